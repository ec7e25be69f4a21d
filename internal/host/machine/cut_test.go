package machine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/wire"
)

// Promises are reported at once and in order; a promise with a smaller number is invalid.
func TestPromises(t *testing.T) {
	place := kernelmemory.ChipPlace{Pages: 2, Bytes: 3, Direct: 1 << 63, Frames: []uint64{4096}}
	promise := func(numbers ...int64) ([]int64, kernelmemory.ChipPlace, error) {
		c := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
			_ = p.Send(wire.KindPlace, m.ID, place)
			for _, n := range numbers {
				_ = p.Send(wire.KindSafe, m.ID, wire.Safe{Number: n})
			}
			_ = p.Send(wire.KindDone, m.ID, wire.Done{Outcome: result.SubjectFailed, Reason: "x"})
		})
		var told []int64
		var at kernelmemory.ChipPlace
		trial := oneStep
		trial.Place = true
		_, err := c.Trial(context.Background(), trial, Events{
			Safe:  func(n int64) { told = append(told, n) },
			Place: func(p kernelmemory.ChipPlace) { at = p },
		})
		return told, at, err
	}
	told, at, err := promise(1, 2, 5)
	if d := cmp.Diff([]int64{1, 2, 5}, told) + cmp.Diff(place, at); err != nil || d != "" {
		t.Error(err, d)
	}
	for _, numbers := range [][]int64{{0}, {2, 2}, {3, 2}} {
		if _, _, err := promise(numbers...); err == nil || !strings.Contains(err.Error(), "is safe after operation") {
			t.Errorf("%v: %v", numbers, err)
		}
	}
}
