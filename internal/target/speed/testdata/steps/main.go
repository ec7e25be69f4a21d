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
			run := p.New()
			runtime.Gosched()
			fmt.Println(work(run, uint32(seed)))
		}
	}
}

// work is where the test begins to count; all other threads are frozen from then on. If the runtime has
// asked this one to yield, it does so, and goes on at once unless it is locked: that takes a thousand
// instructions. Nothing may yield before.
//
//go:noinline
//go:nosplit
func work(run func(seed uint32) uint32, seed uint32) uint32 {
	runtime.UnlockOSThread()
	return run(seed)
}
