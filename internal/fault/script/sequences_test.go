package script

import (
	"strings"
	"testing"
)

func TestSequences(t *testing.T) {
	for n, bounds := range map[int][2]int{1: {60, 220}, 2: {500, 3000}} {
		all := Sequences(n)
		t.Logf("%d sequences of %d", len(all), n)
		if len(all) < bounds[0] || len(all) > bounds[1] {
			t.Errorf("%d sequences of %d", len(all), n)
		}
		names := map[string]bool{}
		for _, s := range all {
			if names[s.Name] {
				t.Errorf("%s occurs twice", s.Name)
			}
			names[s.Name] = true
			if !strings.HasPrefix(s.Name, map[int]string{1: "1:", 2: "2:"}[n]) {
				t.Errorf("name %s", s.Name)
			}
		}
		again := Sequences(n)
		for i := range all {
			if again[i].Name != all[i].Name {
				t.Fatalf("the order changes: %s, %s", all[i].Name, again[i].Name)
			}
		}
	}
	if all := Sequences(3); len(all) != 0 {
		t.Errorf("%d sequences of 3", len(all))
	}
}
