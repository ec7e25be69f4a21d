package main

import (
	"strings"
	"testing"
)

func TestDoctorOnLoad(t *testing.T) {
	for busy, wants := range map[float64][]string{
		0.01: {"  ok     ", "free: work that begins now waits 1.0 % of its time"},
		0.12: {"  busy   ", "waits 12 % of its time: figures by wall clock would be marked", "→ end other work", "--clock virtual"},
		0.38: {"  busy   ", "waits 38 % of its time: trials by wall clock would be taken again", "→ end other work"},
	} {
		got := strings.Join(loadFindings(busy), "\n")
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q lacks %q", busy, got, want)
			}
		}
		if busy < 0.05 && strings.Contains(got, "→") {
			t.Errorf("%v: %q", busy, got)
		}
	}
}
