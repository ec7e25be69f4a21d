package flash

import "fmt"

// checkRequest checks whether a device of a size can carry out a request.
func checkRequest(r Request, size int64) error {
	if r.Op < Read || r.Op > WriteZeroes {
		return fmt.Errorf("there is no request kind %d", r.Op)
	}
	if r.Op == Flush {
		return nil
	}
	if r.Offset < 0 || r.Length < 0 || r.Length > size || r.Offset > size-r.Length || (r.Offset|r.Length)%Sector != 0 {
		return ErrRange
	}
	if r.Data != nil && int64(len(r.Data)) != r.Length {
		return fmt.Errorf("%d bytes of data for a request of %d bytes", len(r.Data), r.Length)
	}
	return nil
}

// request counts what the host requests.
func (s *Stats) request(r Request) {
	switch r.Op {
	case Read:
		s.Reads++
		s.Read += r.Length
	case Write, WriteZeroes:
		s.Writes++
		s.Written += r.Length
	case Flush:
		s.Flushes++
	case Trim:
		s.Trims++
		s.Trimmed += r.Length
	}
}
