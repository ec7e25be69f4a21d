package mtd

import "context"

// Emptied is the result of erasing a device.
type Emptied struct {
	Erased, Bad int
	// Failed lists good blocks that could not be erased and keep their
	// contents.
	Failed []int
	First  error // error of the first of them
}

// EraseAll erases every good block. It skips a block that fails: the flash's
// user decides whether to retire it.
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
