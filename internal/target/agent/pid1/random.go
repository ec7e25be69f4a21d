package pid1

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// seedRandom gives the kernel's random number generator a constant seed, in a guest that has no source of
// randomness because it is to repeat. Until it has one, the generator makes a key for each single
// number: a fifth to a third of the instructions of a filesystem that allocates much (a new slab is
// shuffled) would be random numbers.
func seedRandom() error {
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	var seed [32]byte
	_, err = f.Write(seed[:])
	err = errors.Join(err, unix.IoctlSetPointerInt(int(f.Fd()), unix.RNDADDTOENTCNT, 8*len(seed)), f.Close())
	if err == nil {
		_, err = unix.Getrandom(seed[:], unix.GRND_NONBLOCK)
	}
	if err != nil {
		return fmt.Errorf("the kernel's random numbers cannot be seeded: %w", err)
	}
	return nil
}
