package realtime

import "whichfs/internal/flash"

// Piece is the size of Contents' pieces, in bytes.
const Piece = 1 << 20

// Contents passes the device's contents to piece, one piece per call; data is invalid after the
// call. No client may be connected. Contents ends with a power cut, so that the reads do not delay
// later requests; therefore everything must be on the medium. The device's read counters increase.
func (d *Device) Contents(piece func(offset int64, data []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.device == nil {
		return ErrClosed
	}
	now := d.Now()
	defer d.device.Cut(now)
	buf := make([]byte, min(Piece, d.size))
	for at := int64(0); at < d.size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), d.size-at)]
		if _, err := d.device.Submit(now, flash.Request{Op: flash.Read, Offset: at, Length: int64(len(buf)), Data: buf}); err != nil {
			return err
		}
		if err := piece(at, buf); err != nil {
			return err
		}
	}
	return nil
}
