package fault

// BlockSize is what images are kept in, in bytes.
const BlockSize = 4096

// Image is what a disk holds: blocks of BlockSize bytes by number. A block that
// is not there is all zeros.
type Image struct {
	Size   int64
	Blocks map[int64][]byte
}
