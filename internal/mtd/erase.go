package mtd

import "context"

// Emptied is what became of a device that was erased.
type Emptied struct {
	Erased, Bad int
	// Failed are good blocks that could not be erased: what they held stays.
	Failed []int
	First  error // of the first of them
}

// EraseAll erases every good block. A block that fails is passed over: it is for
// whoever uses the flash to take it out of use.
func (d *Device) EraseAll(ctx context.Context) (Emptied, error) {
	var e Emptied
	for block := range d.Blocks() {
		if ctx.Err() != nil {
			return e, context.Cause(ctx)
		}
		bad, err := d.Bad(block)
		if err != nil {
			return e, err
		}
		if bad {
			e.Bad++
			continue
		}
		if err := d.Erase(block); err != nil {
			if e.First == nil {
				e.First = err
			}
			e.Failed = append(e.Failed, block)
			continue
		}
		e.Erased++
	}
	return e, nil
}

// WriteAt programs whole pages, which must be erased.
func (d *Device) WriteAt(b []byte, offset int64) (int, error) { return d.f.WriteAt(b, offset) }
