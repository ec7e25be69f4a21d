package nbd

import "whichfs/internal/flash"

// contentsPiece is the size of Contents' pieces, in bytes.
const contentsPiece = 1 << 20

// Contents passes the device's contents to piece, one piece per call; data is invalid after the
// call. No client may be connected. Contents ends with a power cut, so that the reads do not delay
// later requests; therefore everything must be on the medium. The device's read counters increase.
func (s *Server) Contents(piece func(offset int64, data []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		return ErrClosed
	}
	now := s.now()
	defer s.device.Cut(now)
	buf := make([]byte, min(contentsPiece, s.size))
	for at := int64(0); at < s.size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), s.size-at)]
		if _, err := s.device.Submit(now, flash.Request{Op: flash.Read, Offset: at, Length: int64(len(buf)), Data: buf}); err != nil {
			return err
		}
		if err := piece(at, buf); err != nil {
			return err
		}
	}
	return nil
}
