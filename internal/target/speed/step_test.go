package speed

import (
	"testing"
	"time"
)

// The step is that of a clock: it moves, and in less than a tick of the slowest kernels.
func TestStep(t *testing.T) {
	if step, err := Step(); err != nil || step <= 0 || step > 10*time.Millisecond {
		t.Errorf("%v, %v", step, err)
	}
}
