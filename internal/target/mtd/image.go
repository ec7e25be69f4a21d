package mtd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// ErrTooSmall means that an image does not fit into the good blocks.
var ErrTooSmall = errors.New("the image does not fit into the good blocks")

// WriteImage writes an image from the start of an erased device, as nandwrite
// does: it skips bad blocks and continues in the next good one, and fills the
// last page with pad. It leaves a page of all 0xff unprogrammed: the page
// reads the same and can still be programmed. The driver computes the spare
// bytes. The caller erases the device first.
//
// It writes page by page and allocates nothing after it starts.
func WriteImage(ctx context.Context, d *Device, image io.Reader, pad byte) (written int64, err error) {
	buf := make([]byte, d.EraseSize)
	return d.writeImage(ctx, image, pad, buf)
}

func (d *Device) writeImage(ctx context.Context, image io.Reader, pad byte, buf []byte) (written int64, err error) {
	for block := 0; ; block++ {
		if ctx.Err() != nil {
			return written, context.Cause(ctx)
		}
		for block < d.Blocks() {
			bad, err := d.Bad(block)
			if err != nil {
				return written, err
			}
			if !bad {
				break
			}
			block++
		}
		n, err := io.ReadFull(image, buf)
		switch {
		case errors.Is(err, io.EOF):
			return written, nil
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return written, fmt.Errorf("reading the image: %w", err)
		}
		if block >= d.Blocks() {
			return written, fmt.Errorf("%s: %w: %d bytes are available", d.path, ErrTooSmall, written)
		}
		whole := (n + d.PageSize - 1) / d.PageSize * d.PageSize
		for i := n; i < whole; i++ {
			buf[i] = pad
		}
		if err := d.writeBlock(block, buf[:whole]); err != nil {
			return written, err
		}
		written += int64(n)
		if n < len(buf) {
			return written, nil
		}
	}
}

func (d *Device) writeBlock(block int, data []byte) error {
	at := int64(block) * int64(d.EraseSize)
	for p := 0; p < len(data); p += d.PageSize {
		page := data[p : p+d.PageSize]
		if Erased(page) {
			continue
		}
		if n, err := unix.Pwrite(int(d.f.Fd()), page, at+int64(p)); err != nil || n != len(page) {
			if err == nil {
				err = io.ErrShortWrite
			}
			return d.fault(err, "writing the image into block %d", block)
		}
	}
	return nil
}
