package nbd

import "sync"

// buffer is memory for the data of one request. Its length is that of its
// class, so that it can be reused.
type buffer struct {
	bytes []byte
	class int
}

// classes are the lengths of buffers in bytes, each with room for the header
// of a reply: most requests are one page, a readahead, or as large as a guest
// makes them.
var classes = [...]int{4<<10 + replyLength, 128<<10 + replyLength, 1<<20 + replyLength, 4<<20 + replyLength, MaxPayload + replyLength}

var pools [len(classes)]sync.Pool

// take returns a buffer of at least n bytes with arbitrary contents; n is at
// most the largest class.
func take(n int) *buffer {
	class := 0
	for classes[class] < n {
		class++
	}
	if b, ok := pools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, classes[class]), class}
}

// release recycles the buffer; nil is allowed.
func (b *buffer) release() {
	if b != nil {
		pools[b.class].Put(b)
	}
}
