package explore

import (
	"errors"
	"slices"
	"testing"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
)

func TestReduce(t *testing.T) {
	tries := 0
	needs := func(want ...int) func([]int) (bool, error) {
		return func(some []int) (bool, error) {
			tries++
			for _, w := range want {
				if !slices.Contains(some, w) {
					return false, nil
				}
			}
			return true, nil
		}
	}
	items := make([]int, 100)
	for i := range items {
		items[i] = 2 * i
	}
	for _, want := range [][]int{nil, {0}, {198}, {6, 100}, {2, 4, 190}} {
		tries = 0
		got, err := reduce(items, needs(want...))
		if err != nil || !slices.Equal(got, want) || tries > 120 {
			t.Errorf("%v instead of %v, %v, after %d tries", got, want, err, tries)
		}
	}
	why := errors.New("enough")
	if got, err := reduce(items, func([]int) (bool, error) { return false, why }); !errors.Is(err, why) || len(got) != 100 {
		t.Errorf("%v %v", got, err)
	}
	if got, err := reduce(nil, needs(1)); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

// States are described by the writes kept or by those missing, whichever are fewer, and torn writes
// only where they matter.
func TestFewestWrites(t *testing.T) {
	volatile := func(int) []int { return []int{1, 2, 3, 4, 5, 6, 7} }
	has := func(s states.State, i int) bool { return slices.Contains(s.Kept, i) }
	torn := &states.Torn{Entry: 4, Sectors: 1}
	durable := &states.Torn{Entry: 8, Sectors: 1} // with FUA, the last before the point
	for name, c := range map[string]struct {
		from  states.State
		shows func(states.State) bool
		want  states.State
	}{
		"nothing needed":   {states.State{Point: 9, Kept: []int{2, 3}}, func(states.State) bool { return true }, states.State{Point: 9}},
		"one kept":         {states.State{Point: 9, Kept: []int{2, 3, 6}}, func(s states.State) bool { return has(s, 3) && !has(s, 1) && !has(s, 5) }, states.State{Point: 9, Kept: []int{3}}},
		"one missing":      {states.State{Point: 9, Kept: []int{1, 2, 6, 7}}, func(s states.State) bool { return !has(s, 3) && has(s, 1) && has(s, 2) && has(s, 7) }, states.State{Point: 9, Kept: []int{1, 2, 4, 5, 6, 7}}},
		"needless tear":    {states.State{Point: 9, Kept: []int{2, 4}, Torn: torn}, func(s states.State) bool { return has(s, 4) && !has(s, 1) && !has(s, 5) }, states.State{Point: 9, Kept: []int{4}}},
		"nothing missing":  {states.State{Point: 9, Kept: []int{2, 3}}, func(s states.State) bool { return has(s, 3) }, states.State{Point: 9, Kept: []int{1, 2, 3, 4, 5, 6, 7}}},
		"torn":             {states.State{Point: 9, Kept: []int{2, 4, 5}, Torn: torn}, func(s states.State) bool { return s.Torn != nil }, states.State{Point: 9, Kept: []int{4}, Torn: torn}},
		"torn and durable": {states.State{Point: 9, Kept: []int{2, 5}, Torn: durable}, func(s states.State) bool { return s.Torn != nil && s.Point == 9 }, states.State{Point: 9, Torn: durable}},
		"before it":        {states.State{Point: 9, Kept: []int{2, 5}, Torn: durable}, func(s states.State) bool { return has(s, 5) && !has(s, 1) && !has(s, 3) }, states.State{Point: 8, Kept: []int{5}}},
	} {
		got, err := fewestWrites(volatile, c.from, 100, func(s states.State) (bool, error) { return c.shows(s), nil })
		if err != nil || got.Point != c.want.Point || !slices.Equal(got.Kept, c.want.Kept) || (got.Torn == nil) != (c.want.Torn == nil) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	from := states.State{Point: 9, Kept: []int{1, 2, 3, 4, 5, 6}}
	got, err := fewestWrites(volatile, from, 2, func(s states.State) (bool, error) { return has(s, 6), nil })
	if !errors.Is(err, errEnough) || !has(got, 6) {
		t.Errorf("a budget of 2: %+v, %v", got, err)
	}
}

func TestFewestOps(t *testing.T) {
	op := func(do string) script.Op { return script.Op{Do: do} }
	ops := []script.Op{op("create"), op("write"), op("mkdir"), op("rename"), op("fsync"), op("unlink")}
	needs := func(some []script.Op) (bool, error) {
		return slices.Contains(some, op("write")) && slices.Contains(some, op("rename")), nil
	}
	got, err := fewestOps(ops, needs)
	if want := []script.Op{op("write"), op("rename")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if len(ops) != 6 || ops[2] != op("mkdir") {
		t.Errorf("the script itself was changed: %v", ops)
	}
}
