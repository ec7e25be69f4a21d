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
	return fmt.Sprintf("%s needs at least %s, this storage has %s", c, amount(least), amount(size)),
		fmt.Sprintf("give storage of %s or more", amount(least))
}

// amount writes a number of bytes in the largest unit that divides it.
func amount(bytes int64) string {
	switch {
	case bytes%mib == 0:
		return fmt.Sprintf("%d MiB", bytes/mib)
	case bytes%kib == 0:
		return fmt.Sprintf("%d KiB", bytes/kib)
	}
	return fmt.Sprintf("%d B", bytes)
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// least is a MinSize that no option changes.
func least(bytes int64) func(Candidate) int64 {
	return func(Candidate) int64 { return bytes }
}
