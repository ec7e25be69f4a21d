package usermode

import (
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Job files of the shapes that people have: with paths of their own machines, a device, and engines for
// metadata, for allocation and for e4defrag. An engine that fio lacks is named.
func TestFioFiles(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:sd-a2,256M"})
	steps := scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}}
	jobs := []struct {
		name, text string
		sizes      map[string]int64
		ops        float64
	}{
		{"paths", "[global]\ndirectory=/scratch\nfilename=/tmp/testfile\nsize=256k\nbs=4k\n[a]\nrw=randread\n[b]\nstonewall\nrw=randwrite\nwrite_lat_log=b\n", nil, 128},
		{"device", "[global]\nfilename=/dev/sdx\ndirect=1\nbs=4k\nsize=1g\n[a]\nrw=randrw\n", map[string]int64{"/dev/sdx": 1 << 20}, 256},
		{"create", "[global]\nioengine=filecreate\ncreate_on_open=1\nfallocate=none\nnrfiles=30\nfilesize=4k\nopenfiles=1\n[a]\n[b]\n", nil, 60},
		{"stat", "[a]\nioengine=filestat\nnrfiles=30\nfilesize=4k\n", nil, 30},
		{"delete", "[a]\nioengine=filedelete\nnrfiles=30\nfilesize=4k\nunlink=0\n", nil, 30},
		{"falloc", "[global]\nioengine=falloc\ndirectory=/scratch\nfilename=fragments\nsize=1m\nfilesize=1m\nbs=64k\n[fill]\nrw=randwrite\n[holes]\nstonewall\nbs=4k\nrw=randtrim\n", nil, 272},
		{"defrag", "[a]\nioengine=e4defrag\ndirectory=/scratch\ndonorname=donor\nfilename=one\nfilesize=1m\nsize=1m\nbs=32k\nrw=write\n", nil, 32},
	}
	for _, j := range jobs {
		text, changed, err := fio.Map(j.text, j.sizes)
		if err != nil {
			t.Fatalf("%s: %v", j.name, err)
		}
		t.Log(j.name, changed)
		steps = append(steps, scenario.Step{Work: "fio", Phase: j.name, Dir: j.name, Job: text})
	}
	phases, _, d := fioPhases(t, s, "ext4", append(steps, scenario.Step{Work: "unmount"}, scenario.Step{Work: "check", Phase: "check"}))
	if d.Outcome != result.Done {
		t.Fatalf("ended %s in %s: %s", d.Outcome, d.Phase, d.Reason)
	}
	for _, j := range jobs {
		if m := phases[j.name][result.Ops]; m.Value != j.ops {
			t.Errorf("%s: %v requests (%s), want %v", j.name, m.Value, m.Absent, j.ops)
		}
	}
	_, _, d = fioPhases(t, s, "ext4", scenario.Scenario{{Work: "mkfs"}, {Work: "mount"}, {Work: "fio", Phase: "fio", Dir: "fio", Job: "[a]\nioengine=dircreate\nnrfiles=3\nfilesize=4k\n"}})
	if d.Outcome != result.Unsupported || d.Reason != "this fio has no engine dircreate" {
		t.Errorf("%+v", d)
	}
}
