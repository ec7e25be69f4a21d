package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// The same command has the same figures where the clock is virtual; elsewhere the order of trials is
// drawn anew.
func TestSeed(t *testing.T) {
	t.Parallel()
	st, _ := study.ByName("bootlin-2023")
	seed := func(q Ask) uint64 {
		t.Helper()
		processors, err := q.processors(plan.File{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.common(st, st.Fit("quick", st.Near("quick", "sim:sd-basic,1G")), plan.File{}, processors)
		if err != nil {
			t.Fatal(err)
		}
		return p.Seed
	}
	own := uint64(7)
	if got := seed(Ask{Clock: result.ClockVirtual}); got != plan.VirtualSeed {
		t.Errorf("virtual time has seed %d", got)
	}
	if got := seed(Ask{Clock: result.ClockVirtual, Seed: &own}); got != own {
		t.Errorf("the requested seed became %d", got)
	}
	if got := seed(Ask{Processors: []string{"bbb"}}); got != plan.VirtualSeed {
		t.Errorf("with a processor virtual time has seed %d", got)
	}
	if seed(Ask{}) == seed(Ask{}) && seed(Ask{}) == seed(Ask{}) {
		t.Error("real time has the same seed each time")
	}
}

// A processor implies the clock that can charge for it, and the command line wins over the plan file.
func TestProcessor(t *testing.T) {
	t.Parallel()
	st, _ := study.ByName("bootlin-2023")
	scale := st.Fit("quick", st.Near("quick", "sim:sd-basic,1G"))
	slow, err := processor.Parse("50MIPS")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    Ask
		file plan.File
		want string // "": refused
	}{
		{Ask{Processors: []string{"bbb"}}, plan.File{}, "bbb"},
		{Ask{Processors: []string{"host"}}, plan.File{}, "host"},
		{Ask{Processors: []string{"bbb"}, Clock: result.ClockVirtual}, plan.File{}, "bbb"},
		{Ask{}, plan.File{Processor: &slow}, "50MIPS"},
		{Ask{Processors: []string{"600MIPS"}}, plan.File{Processor: &slow}, "600MIPS"},
		{Ask{Clock: result.ClockInstructions}, plan.File{Processor: &slow}, ""},
		{Ask{Processors: []string{"bbc"}}, plan.File{}, ""},
	} {
		var p plan.Plan
		list, err := c.q.processors(c.file)
		if err == nil {
			p, err = c.q.common(st, scale, c.file, list)
		}
		switch {
		case c.want == "":
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != result.Refused || e.Hint == "" {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil || p.Processor.Name != c.want || !p.Virtual():
			t.Errorf("%+v: %v, %+v", c, err, p.Processor)
		default:
			run, err := (&App{}).newRun(p)
			if spec := specOf(p, Permission{}, 0); spec.Processor != p.Processor || !spec.Virtual {
				t.Errorf("%+v: sessions have %+v", c, spec)
			}
			if err != nil || run.Processor != c.want || clockCondition(p).Value != "virtual: the storage and the processor "+c.want+" take time" {
				t.Errorf("%+v: %v, %s, %v", c, err, run.Processor, clockCondition(p))
			}
		}
	}
	q := Ask{Processors: []string{"250MIPS"}, Clock: result.ClockWall}
	list, err := q.processors(plan.File{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.common(st, scale, plan.File{}, list)
	if err != nil || clockCondition(p).Value != "wall, with a processor of 250MIPS" {
		t.Errorf("by wall clock: %v, %v", err, clockCondition(p))
	}
	if run, err := (&App{}).newRun(p); err != nil || run.Processor != "" {
		t.Errorf("a run by wall clock is charged for %q, %v", run.Processor, err)
	}
	if p, err := (Ask{}).common(st, scale, plan.File{}, nil); err != nil || p.Processor != nil || p.Clock != "" {
		t.Errorf("none: %v, %v, %q", err, p.Processor, p.Clock)
	}
}

// Several processors make a plan each, on one storage.
func TestSeveralProcessors(t *testing.T) {
	t.Parallel()
	p, _, err := Ask{Study: "bootlin-2023", Predict: true, Storage: []string{"sd-basic,1G"}, Processors: []string{"bbb", " 600MIPS", ""}, Budget: time.Hour}.Plans()
	if err != nil || len(p) != 2 || p[0].Processor.Name != "bbb" || p[1].Processor.Name != "600MIPS" || p[1].Predicted != "600MIPS on model sd-basic" || p[1].Budget != time.Hour/2 ||
		p[0].Seed != p[1].Seed || p[0].Storage != p[1].Storage {
		t.Errorf("%v, %+v", err, p)
	}
	for want, q := range map[string]Ask{
		"2 storages (sim:sd-basic,1G and sim:emmc,1G) and 2 processors": {Study: "bootlin-2023", Storage: []string{"sim:sd-basic,1G", "sim:emmc,1G"}, Processors: []string{"bbb", "pi3"}},
		"these are 3 storages":  {Study: "pandora-2012", Processors: []string{"bbb", "pi3"}},
		"have the name 600MIPS": {Study: "bootlin-2023", Processors: []string{"600MIPS", "bbb", "600.0MIPS"}},
		`no processor "bbc"`:    {Study: "bootlin-2023", Processors: []string{"bbb", "bbc"}},
	} {
		var e *result.Failure
		if _, _, err := q.Plans(); !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, want) || e.Hint == "" {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// By wall clock the lab has less of a study whose quick run would take half an hour, unless it was asked for
// more, and the run says so.
func TestShortByWallClock(t *testing.T) {
	t.Parallel()
	const study = "pandora-2012"
	file := filepath.Join(t.TempDir(), "plan.toml")
	if err := os.WriteFile(file, []byte("study = \"pandora-2012\"\nstorage = \"disk:1G\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q             Ask
		plans, rounds int
		once          bool
		says          string
	}{
		"quick":         {Ask{Study: study}, 1, 2, true, "1 of the study's 3 storages, 2 rounds instead of 3 and options in the first round only"},
		"virtual":       {Ask{Study: study, Clock: result.ClockVirtual}, 3, 3, false, ""},
		"claims":        {Ask{Study: study, Scale: "claims"}, 3, 3, false, ""},
		"another place": {Ask{Study: study, Machine: "fake"}, 3, 3, false, ""},
		"storages":      {Ask{Study: study, Storage: []string{"sdxc-64g", "sdhc-16g"}}, 2, 2, true, "2 rounds instead of 3 and options in the first round only"},
		"rounds":        {Ask{Study: study, Rounds: 3}, 1, 3, true, "1 of the study's 3 storages and options in the first round only"},
		"settled":       {Ask{Study: study, Until: plan.UntilSettled}, 1, settleRounds, true, "1 of the study's 3 storages and"},
		"plan file":     {Ask{Study: file}, 1, 2, true, "this run has 2 rounds instead of 3 and options"},
		"all storages":  {Ask{Study: "devbuild-gist"}, 1, 3, false, "this run has 1 of the study's 3 storages;"},
		"less work":     {Ask{Study: "elc-2015"}, 1, 2, false, "this run has 2 rounds instead of 3, no options, no boots, a sixteenth of"},
	} {
		c.q.Factors = true
		plans, _, err := c.q.Plans()
		if err != nil || len(plans) != c.plans || plans[0].Rounds != c.rounds {
			t.Errorf("%s: %d plans, %v", name, len(plans), err)
			continue
		}
		for _, f := range plans[0].Factors {
			if f.Once != c.once {
				t.Errorf("%s: factor %s: once %v", name, f.Name, f.Once)
			}
		}
		if said := strings.Join(plans[0].Changed, "; "); (said != "") != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

// This machine's processor is measured once for all plans of a series that ask for it. Plans that have
// figures keep them.
func TestMeasureHost(t *testing.T) {
	t.Parallel()
	var notes []string
	a := &App{Note: func(text string) { notes = append(notes, text) }}
	host, err := processor.Resolve(processor.Host)
	if err != nil {
		t.Fatal(err)
	}
	board := processor.Profile{Name: "bbb", Other: 1e9}
	plans := []plan.Plan{{Processor: &board}, {Processor: &host}, {Processor: &host}}
	if err := a.measureHost(plans); err != nil {
		t.Fatal(err)
	}
	p := *plans[1].Processor
	if p.Check() != nil || p.Name != "host" || *plans[2].Processor != p || plans[0].Processor != &board {
		t.Errorf("%s, %s, %s", p, plans[2].Processor, plans[0].Processor)
	}
	if len(notes) == 0 || notes[0] != "measuring this machine's processor, for 3 s" {
		t.Errorf("%q", notes)
	}
	said := len(notes)
	if err := a.measureHost(plans); err != nil || *plans[1].Processor != p || len(notes) != said {
		t.Errorf("%v, %s, %q", err, plans[1].Processor, notes)
	}
	if err := a.measureHost(make([]plan.Plan, 1)); err != nil || len(notes) != said {
		t.Errorf("%v, %q", err, notes)
	}
}

// A quick series leaves out storages that only claims need; by name they can be
// had at every scale.
func TestStoragesOfAScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		study, scale, clock string
		named               []string
		want                string
	}{
		{"elc-2015", "quick", "", nil, "sim:sd-class10,1G"},
		{"elc-2015", "quick", "", []string{"sd-samsung"}, "sim:sd-basic,1G"},
		{"elc-2015", "full", "", nil, "sim:sd-class10,1G sim:sd-basic,1G sim:emmc-4g,1G"},
		// What takes too long by any other clock is in series of virtual time alone.
		{"bootlin-2010", "claims", "", nil, "nand:128M sim:sd-basic,1G"},
		{"bootlin-2010", "claims", result.ClockVirtual, nil, "nand:128M nand:8M sim:sd-basic,1G"},
		{"bootlin-2010", "quick", result.ClockVirtual, nil, "nand:64M sim:sd-basic,1G"},
		{"bootlin-2010", "quick", "", []string{"worn"}, "nand:8M"},
	} {
		plans, _, err := Ask{Study: c.study, Scale: c.scale, Clock: c.clock, Machine: "fake", Storage: c.named}.Plans()
		var got []string
		for _, p := range plans {
			got = append(got, p.Storage)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// Above quick a run with the virtual clock has the processor of the study's board, unless another or
// none is asked for.
func TestBoard(t *testing.T) {
	t.Parallel()
	virtual := result.ClockVirtual
	for _, c := range []struct {
		q    Ask
		want string // "": it is free
	}{
		{Ask{Study: "elc-2015", Scale: "claims", Clock: virtual}, "bbb"},
		{Ask{Study: "pandora-2012", Scale: "full", Clock: virtual}, "pandora"},
		{Ask{Study: "elc-2015", Scale: "claims", Clock: virtual, Processors: []string{"pi3"}}, "pi3"},
		{Ask{Study: "elc-2015", Scale: "claims", Clock: virtual, Processors: []string{" free "}}, ""},
		{Ask{Study: "elc-2015", Scale: "quick", Clock: virtual}, ""},
		{Ask{Study: "bootlin-2010", Scale: "claims", Clock: virtual}, "usb-a9263"},
		{Ask{Study: "elc-2015", Scale: "claims", Clock: virtual, Processors: []string{" "}}, "bbb"},
		{Ask{Study: "elc-2015", Scale: "claims"}, ""},
		{Ask{Study: "devbuild-gist", Scale: "full", Clock: virtual}, ""},
	} {
		plans, _, err := c.q.Plans()
		if err != nil {
			t.Errorf("%+v: %v", c.q, err)
		}
		for _, p := range plans {
			name, want := "", c.want
			if p.Processor != nil {
				name = p.Processor.Name
			}
			if p.Storage == "nand:8M" {
				want = "" // its figures are counts
			}
			if name != want {
				t.Errorf("%+v: on %s with processor %q", c.q, p.Storage, name)
			}
			if c.q.Study == "elc-2015" && (p.Boots == nil) != p.Instructions() {
				t.Errorf("%+v: on %s boots %v", c.q, p.Storage, p.Boots)
			}
		}
	}
	for _, q := range []Ask{{Study: "elc-2015", Processors: []string{"free", "bbb"}}, {Study: "elc-2015", Predict: true, Storage: []string{"sd-basic,1G"}, Processors: []string{"free"}}} {
		if _, _, err := q.Plans(); err == nil || !strings.Contains(err.Error(), "free") {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, st := range study.All {
		if _, err := (Ask{}).board(st, "full"); err != nil {
			t.Errorf("%s: %v", st.Name, err)
		}
	}
}

// Guests have the processors of the study's machine where real time passes, and above quick scale its
// memory, unless others are asked for.
func TestGuests(t *testing.T) {
	t.Parallel()
	most := min(6, runtime.NumCPU())
	for _, c := range []struct {
		name   string
		q      Ask
		cpus   int
		memory int64 // MiB
	}{
		{"as many as the study's", Ask{Study: "devbuild-gist", Storage: []string{"nvme"}}, most, 0},
		{"another number", Ask{Study: "devbuild-gist", Storage: []string{"nvme"}, CPUs: []int{1, 2}}, 1, 0},
		{"virtual", Ask{Study: "devbuild-gist", Storage: []string{"nvme"}, Clock: result.ClockVirtual}, 0, 0},
		{"a fixed speed", Ask{Study: "devbuild-gist", Storage: []string{"nvme"}, Clock: result.ClockWall, Processors: []string{"250MIPS"}}, 0, 0},
		{"local", Ask{Study: "devbuild-gist", Machine: "local", Storage: []string{"loop:2G"}, Scale: "full"}, 0, 0},
		{"quick", Ask{Study: "bootlin-2023"}, 0, 0},
		{"claims", Ask{Study: "bootlin-2023", Scale: "claims"}, 0, 512},
		{"full, virtual", Ask{Study: "bootlin-2023", Scale: "full", Clock: result.ClockVirtual}, 0, 512},
		{"another amount", Ask{Study: "bootlin-2023", Scale: "claims", Memory: []string{"1G", "256M"}}, 0, 1024},
		{"instructions", Ask{Study: "bootlin-2023", Scale: "claims", Clock: result.ClockInstructions}, 0, 0},
		{"the board with the chip", Ask{Study: "bootlin-2010", Scale: "claims", Storage: []string{"nand"}, Clock: result.ClockVirtual}, 0, 64},
		{"the board with the card", Ask{Study: "bootlin-2010", Scale: "full", Storage: []string{"mmc"}}, 0, 256},
		{"Pandora", Ask{Study: "pandora-2012", Scale: "claims"}, 0, 512},
		{"elc", Ask{Study: "elc-2015", Scale: "claims"}, 0, 512},
	} {
		plans, _, err := c.q.Plans()
		if err != nil || plans[0].CPUs != c.cpus || plans[0].Memory != c.memory<<20 {
			t.Errorf("%s: %v, %+v", c.name, err, plans)
		}
	}
	for want, q := range map[string]Ask{
		"one processor":             {Study: "bootlin-2023", Clock: result.ClockVirtual, CPUs: []int{1, 2}},
		"of a fixed speed has one":  {Study: "bootlin-2023", Clock: result.ClockWall, Processors: []string{"250MIPS"}, CPUs: []int{2}},
		"processors that it has":    {Study: "bootlin-2023", Machine: "local", Storage: []string{"loop:1G"}, CPUs: []int{1}},
		"from 1 to 256, not 257":    {Study: "bootlin-2023", CPUs: []int{257}},
		"512M is named twice":       {Study: "bootlin-2023", Memory: []string{"512M", "1G", "512M"}},
		"2 is named twice":          {Study: "bootlin-2023", CPUs: []int{2, 2}},
		"instruction counts do not": {Study: "bootlin-2023", Clock: result.ClockInstructions, Memory: []string{"512M", "1G"}},
	} {
		if _, _, err := q.Plans(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Where the study's memory cannot hold the data, a guest has the least that can. Making an image needs
// the tree as a directory and as the image, too, and work that leaves some memory for caches must find it.
func TestRoomy(t *testing.T) {
	t.Parallel()
	plans, _, err := Ask{Study: "bootlin-2023", Scale: "claims", Candidates: []string{"ext4"}}.Plans()
	if err != nil {
		t.Fatal(err)
	}
	p := plans[0]
	images := func(p plan.Plan) plan.Plan {
		p.Candidates, err = Candidates([]string{"ext4", "erofs"})
		return p
	}
	of := func(p plan.Plan, tree, stream int64) plan.Plan {
		p.Data = []scenario.Data{{Name: "tree", Kind: "tree", Size: tree << 20}, {Name: "stream", Kind: "stream", Size: stream << 20}}
		return p
	}
	leaves := func(size int64) plan.Plan {
		p := of(p, 300, 300)
		p.ReadWrite = append(scenario.Scenario{{Work: "hold-memory", Size: size << 20}}, p.ReadWrite...)
		return p
	}
	local := of(p, 300, 300)
	local.Machine = "local"
	for name, c := range map[string]struct {
		p    plan.Plan
		want int64 // MiB
	}{
		"it fits": {of(p, 100, 100), 512}, "it does not": {of(p, 300, 300), 728}, "with an image": {of(images(p), 300, 300), 1328},
		"an image that fits": {of(images(p), 100, 10), 512}, "local": {local, 512},
		"caches are left, and room for clones": {leaves(160), 728 + 160 + 256}, "more caches than the machine had memory": {leaves(1024), 728 + 384 + 256},
	} {
		if got := roomy([]plan.Plan{c.p})[0].Memory; got != c.want<<20 || err != nil {
			t.Errorf("%s: %d MiB, want %d; %v", name, got>>20, c.want, err)
		}
	}
	p.Memory = 0
	if got := roomy([]plan.Plan{of(p, 300, 300)})[0].Memory; got != 0 {
		t.Errorf("memory that nobody sets became %d", got)
	}
}

// A kernel that is named is that of all trials; several only boot where a study boots by the virtual
// clock.
func TestKernelOfTrials(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		study, clock string
		kernels      []string
		want         string
	}{
		{"elc-2015", "virtual", []string{"6.12"}, "6.12"}, {"elc-2015", "wall", []string{"6.12", "6.1"}, "6.12"},
		{"elc-2015", "virtual", []string{"6.12", "6.1"}, ""}, {"bootlin-2023", "virtual", []string{"6.12", "6.1"}, "6.12"},
	} {
		plans, _, err := Ask{Study: c.study, Clock: c.clock, Kernels: c.kernels}.Plans()
		must.Do(t, err)
		for _, p := range plans {
			if p.Kernel != c.want {
				t.Errorf("%v: trials are on %q", c, p.Kernel)
			}
		}
	}
}

// Several boards have the order of trials and the storage in common, and each its own permission.
func TestMachines(t *testing.T) {
	q := Ask{Study: "bootlin-2023", Machines: []string{"ssh:a", "ssh:b"}, Storage: []string{"loop:256M"}, Candidates: []string{"ext4"}}
	plans, _, err := q.Plans()
	if err != nil || len(plans) != 2 || plans[0].Seed != plans[1].Seed || plans[0].Machine != "ssh:a" || plans[1].Machine != "ssh:b" {
		t.Fatalf("%+v, %v", plans, err)
	}
	file := filepath.Join(t.TempDir(), "board.toml")
	if err := os.WriteFile(file, []byte("connect = \"ssh:c\"\nstorage = \"/dev/sda\"\nidentity = \"of the file\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids     []string
		machine string
		at      int
		want    string
	}{
		{nil, "ssh:a", 0, ""},
		{[]string{"first", "second"}, "ssh:b", 1, "second"},
		{[]string{"only"}, "ssh:b", 1, "only"},
		{[]string{"first", "of the file"}, file, 0, "of the file"},
		{[]string{"first", "second"}, file, 1, "second"},
	} {
		if got := (Permission{Destroy: c.ids}).id(c.machine, c.at); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
