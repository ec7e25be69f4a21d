package usermode

import (
	"math"
	"os"
	"testing"

	"whichfs/internal/host/lab/labtest"
	kernels "whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

func parse(t *testing.T, text string) *processor.Profile {
	t.Helper()
	p, err := processor.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func counting(t *testing.T) *Machine {
	t.Helper()
	return New(Options{Agent: labtest.Counting(t), Handshake: wait.Patience})
}

// With a processor, too, two guests measure the same to the last bit, one of them beside other
// work on this host.
func TestProcessorRepeats(t *testing.T) {
	m := counting(t)
	data := machinetest.Data(t)
	candidates := []string{"ext4", "btrfs -o compress=zstd", "f2fs"}
	run := func(cpu string) (all []result.Trial) {
		s := begin(t, m, machine.Spec{Storage: "sim:sd-basic,256M", Data: data, Seed: 7, Processor: parse(t, cpu)})
		defer s.Close()
		for _, candidate := range candidates {
			all = append(all, trial(t, s, candidate, short))
		}
		return all
	}
	first := run("600MIPS")
	rest := busy(t)
	// The numbers of the host's processes have fewer digits.
	if os.Geteuid() == 0 {
		must.Do(t, os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte("300"), 0o644))
	}
	second := run("600MIPS")
	rest()
	other := run("601MIPS")
	for i, candidate := range candidates {
		if d := difference(first[i], second[i]); d != "" {
			t.Errorf("%s: it does not repeat:\n%s", candidate, d)
		}
		if difference(first[i], other[i]) == "" {
			t.Errorf("%s: another processor changes nothing", candidate)
		}
	}
}

// The time that is charged is what the work costs, and passes.
func TestProcessorTakesTime(t *testing.T) {
	t.Parallel()
	m := counting(t)
	const size = 2 << 20 // of the stream
	work := scenario.Scenario{
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "space", Phase: "space"},
		{Work: "stream-write", Phase: "write", Data: "stream", Dir: "streams", Count: 1},
		{Work: "tree-copy", Phase: "write-tree", Data: "tree"},
		{Work: "remount"},
		{Work: "stream-read", Phase: "read", Data: "stream", Dir: "streams", Count: 1},
		{Work: "tree-read", Phase: "read-tree"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "check", Phase: "check"},
	}
	slow := processor.Profile{Name: "slow", Other: 100e6, Compressing: 50e6, Checksums: 200e6, Copying: 400e6, CRC32: 60e6, CRC32C: 80e6, Call: 500, Fault: 700, Switch: 900}
	s := begin(t, m, machine.Spec{Storage: "ram:256M", Data: machinetest.Data(t), Seed: 1, Processor: &slow})
	got := map[string]float64{}
	for _, x := range trial(t, s, "btrfs -o compress=zstd", work).Measurements {
		got[x.Phase+" "+x.Metric] = x.Value
		if x.Phase == "check" && x.Metric == result.Wall && x.Absent != machinetest.OwnWork {
			t.Errorf("a check that computes without being charged takes %v s: %q", x.Value, x.Absent)
		}
	}
	// The counters are read outside of the phase's time. What an interrupt does while the guest pays is
	// counted at once, and charged the next time.
	const reading, interrupt = 1e-3, 5e-5
	for _, phase := range []string{"mkfs", "write", "write-tree", "read", "read-tree"} {
		of := func(metric string) float64 { return got[phase+" "+metric] }
		want := of(result.InstructionsOther)/slow.Other + of(result.InstructionsCompressing)/slow.Compressing +
			of(result.InstructionsChecksums)/slow.Checksums + of(result.ProcessorCopied)/slow.Copying +
			of(result.ProcessorCRC32)/slow.CRC32 + of(result.ProcessorCRC32C)/slow.CRC32C +
			((of(result.ProcessorCalls)+of(result.ProcessorInterrupts))*slow.Call+
				of(result.ProcessorFaults)*slow.Fault+of(result.ProcessorSwitches)*slow.Switch)/slow.Other
		if charged := of(result.Processor); charged == 0 || math.Abs(charged-want) > interrupt {
			t.Errorf("%s: %v s are charged for work of %v s", phase, charged, want)
		}
		if wall := of(result.Wall); wall < of(result.Processor)-reading {
			t.Errorf("%s takes %v s, less than its processor: %v s", phase, wall, of(result.Processor))
		}
	}
	if got["write-tree "+result.InstructionsCompressing] == 0 {
		t.Error("nothing compresses")
	}
	for _, phase := range []string{"write", "read"} {
		if n := got[phase+" "+result.ProcessorCRC32C]; n < size/8 {
			t.Errorf("%s: CRC-32C of %v bytes", phase, n)
		}
		if got[phase+" "+result.ProcessorInterrupts] == 0 || got[phase+" "+result.ProcessorSwitches] == 0 {
			t.Errorf("%s: no interrupts, or no changes of threads", phase)
		}
		if n := got[phase+" "+result.ProcessorCopied]; n < size || n > 8*size {
			t.Errorf("%s: %v bytes copied for %d", phase, n, size)
		}
	}
	// Two of the phase's own, two of the clock, and the reading of the counters; and one by chance.
	if n := got["space "+result.ProcessorCalls]; n < 5 || n > 6 {
		t.Errorf("statfs and close are %v system calls", n)
	}
	if n := got["mkfs "+result.InstructionsCompressing]; n != 0 {
		t.Errorf("mkfs compresses: %v", n)
	}
}

// The known run repeats on a kernel that counts; it is that of every kernel where nothing is charged.
func TestCountingSelfTest(t *testing.T) {
	t.Parallel()
	if err := counting(t).SelfTest(t.Context(), kernels.Choice{Counting: true}); err != nil {
		t.Error(err)
	}
}
