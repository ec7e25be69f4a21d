package usermode

import (
	"runtime"
	"testing"
)

// Guests spread over the processors, also when some end before others.
func TestProcessors(t *testing.T) {
	p := processors{guests: map[int]int{}}
	take := func() int {
		n, err := p.take()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := map[int]int{}
	for range 2 * runtime.NumCPU() {
		all[take()]++
	}
	if len(all) != runtime.NumCPU() {
		t.Errorf("%d processors of %d are used", len(all), runtime.NumCPU())
	}
	for n, guests := range all {
		if guests != 2 {
			t.Errorf("processor %d has %d guests", n, guests)
		}
	}
	last := take()
	p.put(last)
	p.put(last)
	if again := take(); again != last {
		t.Errorf("processor %d, although %d has fewer guests", again, last)
	}
}
