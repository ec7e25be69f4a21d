package filesystem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// super is a part of a device with fixed-width numbers.
type super struct {
	b     []byte
	order binary.ByteOrder
}

// readSuper reads a superblock and checks its magic bytes, given in their order on the device.
func readSuper(seen Evidence, offset int64, length int, order binary.ByteOrder, at int, magic string) (super, error) {
	if seen.Read == nil {
		return super{}, errors.New("the device cannot be read here")
	}
	b, err := seen.Read(offset, length)
	if err != nil {
		return super{}, err
	}
	if len(b) < length {
		return super{}, fmt.Errorf("the device ends after %d of %d bytes", len(b), length)
	}
	if got := string(b[at : at+len(magic)]); got != magic {
		return super{}, fmt.Errorf("magic %q is not %q", got, magic)
	}
	return super{b, order}, nil
}

func (s super) u8(at int) int64        { return int64(s.b[at]) }
func (s super) u16(at int) int64       { return int64(s.order.Uint16(s.b[at:])) }
func (s super) u32(at int) int64       { return int64(s.order.Uint32(s.b[at:])) }
func (s super) u64(at int) uint64      { return s.order.Uint64(s.b[at:]) }
func (s super) bits(at int) uint32     { return s.order.Uint32(s.b[at:]) }
func (s super) bytes(at, n int) []byte { return s.b[at : at+n] }

// text reads a name that is padded with zero bytes or blanks.
func (s super) text(at, n int) string {
	b, _, _ := bytes.Cut(s.b[at:at+n], []byte{0})
	return strings.TrimRight(string(b), " ")
}

// uuid reads a UUID in its usual spelling.
func (s super) uuid(at int) string {
	u := s.b[at : at+16]
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
