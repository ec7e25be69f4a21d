package main

import (
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
)

// On a machine that has the virtual lab's kernels and nothing to make one with, what is missing is one line.
func TestDoctorOfImport(t *testing.T) {
	labtest.Virtual(t)
	t.Setenv("PATH", t.TempDir())
	findings := virtualFindings()
	if tools := findings[0]; tools.name != "tools" || tools.ok || len(tools.debs) == 0 || !strings.Contains(tools.note, "no other kernel") {
		t.Errorf("without tools: %+v", tools)
	}
	for _, f := range findings[1:] {
		if !f.ok || !strings.HasPrefix(f.name, "kernel ") {
			t.Errorf("besides the tools: %+v", f)
		}
	}
	if len(findings) == 1 {
		t.Error("no kernel")
	}
}

// A name that is longer than others moves the notes of all.
func TestDoctorAligns(t *testing.T) {
	var out strings.Builder
	a := shell{stdout: &out}
	a.show([]finding{{name: "gcc", note: "one", other: "x"}, {name: "/usr/lib/x86_64-linux-gnu/libelf.so.1", ok: true, note: "two"}})
	lines := strings.Split(out.String(), "\n")
	if at := strings.Index(lines[0], "one"); at < 0 || at != strings.Index(lines[1], "two") {
		t.Errorf("not in one column:\n%s", out.String())
	}
}

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
