// steps runs a piece of reference work once, on its first thread: steps NAME SEED.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"whichfs/internal/target/speed"
)

func init() { runtime.LockOSThread() }

func main() {
	seed, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	debug.SetGCPercent(-1)
	for _, p := range speed.Pieces {
		if p.Name == os.Args[1] {
			fmt.Println(work(p.New(), uint32(seed)))
		}
	}
}

//go:noinline
func work(run func(seed uint32) uint32, seed uint32) uint32 { return run(seed) }
