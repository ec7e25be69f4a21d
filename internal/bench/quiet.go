package bench

import (
	"fmt"
	"os"
	"time"
)

// quietLimit is how long a turn waits for the rest of the machine: dropping caches, mounting and
// discarding leave work for kernel threads.
const quietLimit = 500 * time.Millisecond

// awaitQuiet returns when the processors are nearly idle, or at the limit.
func awaitQuiet(limit time.Duration) {
	const look = 40 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); {
		busy, all := ticks()
		time.Sleep(look)
		busyNow, allNow := ticks()
		if allNow > all && 5*(busyNow-busy) <= allNow-all {
			return
		}
	}
}

// ticks are the processors' busy ticks and their total.
func ticks() (busy, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat: "cpu", then user, nice, system, idle, waiting for
// I/O, interrupts, soft interrupts, stolen.
func parseTicks(text string) (busy, all int64) {
	var t [8]int64
	n, _ := fmt.Sscanf(text, "cpu %d %d %d %d %d %d %d %d", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7])
	if n < len(t) {
		return 0, 0
	}
	for i, v := range t {
		all += v
		if i != 3 && i != 4 {
			busy += v
		}
	}
	return busy, all
}
