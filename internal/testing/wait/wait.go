// Package wait waits in tests for what other processes and the kernel do.
package wait

import (
	"testing"
	"time"
)

// Patience is when what did not happen counts as never happening. It bounds no
// speed: what is waited for takes seconds at most, and a machine may be a hundred
// times slower. It is there to name what was waited for, which go test's own
// timeout does not.
const Patience = 10 * time.Minute

// While waits while something is wrong.
func While(t testing.TB, wrong func() string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		text := wrong()
		if text == "" {
			return
		}
		if time.Since(begun) > Patience {
			t.Fatalf("after %s: %s", Patience, text)
		}
	}
}

// Until waits until something is so.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	While(t, func() string {
		if ok() {
			return ""
		}
		return "never: " + what
	})
}

// For waits for a channel's value, or its end.
func For[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		t.Fatalf("never: %s", what)
		panic("not reached")
	}
}
