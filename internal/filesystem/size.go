package filesystem

import "fmt"

// TooSmall says why storage of size bytes is too small for a candidate, and
// what would do; both are "" where it is not, as far as is known.
func TooSmall(c Candidate, size int64) (reason, hint string) {
	least := int64(0)
	if f := c.Filesystem().MinSize; f != nil {
		least = f(c)
	}
	if size >= least {
		return "", ""
	}
	need := (least + 1<<20 - 1) >> 20
	return fmt.Sprintf("%s needs at least %d MiB, this storage has %d MiB", c, need, size>>20),
		fmt.Sprintf("give storage of %d MiB or more", need)
}
