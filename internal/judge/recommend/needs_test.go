package recommend

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

func excludedBy(o Order, need string) string {
	var out []string
	for _, e := range o.Excluded {
		if e.Need == need {
			out = append(out, e.Candidate)
		}
	}
	return strings.Join(out, ", ")
}

// With facts alone, where nothing was measured: the candidates that each need
// rules out.
func TestNeedsByFacts(t *testing.T) {
	all := []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"}
	for need, want := range map[string][]string{
		"power-loss-safe":    {"ext2", "jfs", "vfat", "exfat"},
		"read-write":         {"squashfs", "erofs"},
		"read-only":          all[:len(all)-2],
		"compression":        {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "erofs"},
		"encryption":         {"ext2", "ext3", "xfs", "btrfs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"checksums":          {"ext2", "ext3", "ext4", "xfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"metadata-checksums": {"ext2", "ext3", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"no-journal":         {"ext3", "ext4", "xfs", "jfs", "reiserfs"},
		"dates-after-2038":   {},
		"owners":             {"vfat", "exfat"}, "symlinks": {"vfat", "exfat"}, "hard-links": {"vfat", "exfat"},
		"special-files": {"vfat", "exfat"}, "case-sensitive": {"vfat", "exfat"}, "files-over-4gib": {"vfat"},
		"grow": {"vfat", "exfat", "squashfs", "erofs"}, "grow-online": {"f2fs", "vfat", "exfat", "squashfs", "erofs"},
		"shrink":        {"xfs", "jfs", "vfat", "exfat", "squashfs", "erofs"},
		"shrink-online": {"ext2", "ext3", "ext4", "xfs", "f2fs", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"defragment":    {"ext2", "ext3", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"snapshot":      {"ext2", "ext3", "ext4", "xfs", "f2fs", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"scrub":         {"ext2", "ext3", "ext4", "xfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"convert":       {"ext2", "xfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat", "squashfs", "erofs"},
		"label":         {"squashfs", "erofs"}, "uuid": {"f2fs", "squashfs", "erofs"},
		"offline-image":  {"xfs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat"},
		"min-size=64MiB": {"xfs", "btrfs", "nilfs2"}, "min-size=104K": {"ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "exfat"},
	} {
		o := ask(t, need, "").Orders[0]
		var got []string
		for _, name := range all {
			if slices.ContainsFunc(o.Excluded, func(e Exclusion) bool { return e.Candidate == name }) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s rules out %q, want %q", need, got, want)
		}
		for _, e := range o.Excluded {
			if e.Why == "" || e.Source == "" || strings.HasSuffix(e.Why, ".") {
				t.Errorf("%s: %+v", need, e)
			}
		}
		if o.Measured || len(o.Places) > 0 || o.Settled {
			t.Errorf("%s: something is measured: %+v", need, o.Places)
		}
	}
	if a := ask(t, "read-only read-write", ""); !a.Excludes() || a.Orders[0].Answer != "No candidate meets all needs." {
		t.Errorf("both: %+v", a.Orders[0].Answer)
	}
	// Variants that lack what the plain one has, and the reverse.
	o := ask(t, "power-loss-safe", "", made{study: "bootlin-2023", id: "r", rounds: 1,
		candidates: []string{"ext4", "ext4 -O ^has_journal", "ext4 -o nobarrier", "btrfs -o nobarrier", "ext2 -O has_journal"}}.source(t)).Orders[0]
	if got := excludedBy(o, "power-loss-safe"); got != "ext4 -O ^has_journal, ext4 -o nobarrier, btrfs -o nobarrier" {
		t.Errorf("ruled out: %s", got)
	}
	o = ask(t, "dates-after-2038", "", made{study: "bootlin-2023", id: "r", rounds: 1, candidates: []string{"ext4", "ext4 -I 128", "xfs -m bigtime=0"}}.source(t)).Orders[0]
	if got := excludedBy(o, "dates-after-2038"); got != "ext4 -I 128, xfs -m bigtime=0" {
		t.Errorf("ruled out: %s", got)
	}
}

// Every need can be written as in the list, and either rules out a candidate or
// is met by all for a reason.
func TestEveryNeedIsUnderstood(t *testing.T) {
	for _, k := range Needs() {
		text := strings.NewReplacer("SIZE", "64MiB", "KEY", "boot", "LIMIT", "0.5s").Replace(k.Name)
		if _, err := ParseNeed(text); err != nil || k.About == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Encryption needs an option that the measured candidates lack; compression
// must be in force, and a run that found it dropped overrides the facts.
func TestPossibleAndInForce(t *testing.T) {
	o := ask(t, "encryption", "write", made{study: "bootlin-2023", id: "r", rounds: 2, candidates: []string{"ext4", "xfs"}}.source(t)).Orders[0]
	if names(o) != "ext4" || len(o.Places[0].Notes) != 1 || !strings.Contains(o.Places[0].Notes[0], "-O encrypt, which was not measured") {
		t.Errorf("%s: %+v", names(o), o.Places)
	}
	list := []string{"btrfs", "btrfs -o compress=lzo", "f2fs"}
	o = ask(t, "compression", "write", made{study: "bootlin-2023", id: "r", rounds: 2, candidates: list}.source(t)).Orders[0]
	if names(o) != "btrfs -o compress=lzo" || o.Excluded[0].Remedy != "-o compress=zstd" {
		t.Errorf("%s: %+v", names(o), o.Excluded)
	}
	if got := texts(o, "candidate"); !strings.Contains(got, "btrfs -o compress=zstd") || !strings.Contains(got, "compress_extension=*") {
		t.Errorf("not tried: %s", got)
	}
	dropped := made{study: "bootlin-2023", id: "r", rounds: 2, candidates: list, trial: func(x *result.Trial) {
		if x.Candidate == "btrfs -o compress=lzo" {
			x.Options = []result.Option{{Text: "-o compress=lzo", State: result.Ignored, Evidence: "mountinfo: rw"}}
		}
	}}.source(t)
	a := ask(t, "compression", "write", dropped)
	if !a.Excludes() || !strings.Contains(a.Orders[0].Excluded[1].Why, "which is not in force") || !strings.Contains(a.Orders[0].Excluded[1].Source, "mountinfo: rw") {
		t.Errorf("dropped: %+v", a.Orders[0])
	}
}

// A limit rules out candidates whose whole interval is above it, keeps those
// below, and says where neither is shown.
func TestLimits(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs", "f2fs", "erofs"}, rounds: 4, noise: 0.05, seed: 1,
		factor: map[string]map[string]float64{"ext4": {"write": 0.5}, "xfs": {"write": 2}, "f2fs": {"write": 1}}}.source(t)
	o := ask(t, "max-write=1s", "read", s).Orders[0]
	if got := excludedBy(o, "max-write=1s"); got != "xfs" {
		t.Errorf("ruled out: %q in %+v", got, o.Excluded)
	}
	if why := o.Excluded[0]; !strings.Contains(why.Why, "above the limit") || why.Source != "measured in r1" {
		t.Errorf("%+v", why)
	}
	doubts := map[string]string{}
	for _, p := range o.Places {
		for _, d := range p.Doubt {
			doubts[p.Candidate] = d.Text
		}
	}
	if len(doubts) != 2 || !strings.Contains(doubts["f2fs"], "is not shown: Write is") || !strings.Contains(doubts["erofs"], "not part of the work with a read-only filesystem") {
		t.Errorf("doubts: %v", doubts)
	}
	// An estimate above the limit does not suffice to rule a candidate out, nor
	// one below it to show that it keeps the limit.
	for _, p := range ask(t, "", "write", s).Orders[0].Places {
		if p.Candidate != "f2fs" {
			continue
		}
		e := p.Parts[0].Estimate
		for _, limit := range []float64{(e.Low + 3*e.Value) / 4, (e.High + 3*e.Value) / 4} {
			o := ask(t, fmt.Sprintf("max-write=%vs", limit), "read", s).Orders[0]
			i := slices.IndexFunc(o.Places, func(p Place) bool { return p.Candidate == "f2fs" })
			if i < 0 || len(o.Places[i].Doubt) != 1 {
				t.Errorf("limit %v, estimate %+v: %+v", limit, e, o.Places)
			}
		}
	}
	// A single figure shows nothing, however far from the limit.
	one := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 1}.source(t)
	o = ask(t, "max-write=1ms", "read", one).Orders[0]
	if len(o.Excluded) != 0 || !strings.Contains(o.Places[0].Doubt[0].Text, "a single figure") {
		t.Errorf("one figure: %+v", o)
	}
	// A limit on something not measured is reported, with the study that would
	// measure it.
	o = ask(t, "max-seeks=1s", "read", s).Orders[0]
	if len(o.Missing) != 1 || o.Missing[0].Remedy != "whichfs run pandora-2012" || len(o.Places) != 4 {
		t.Errorf("not measured: %+v", o.Missing)
	}
	if !strings.HasSuffix(o.Answer, "ext4 is not shown to keep max-seeks=1s.") {
		t.Errorf("answer: %s", o.Answer)
	}
	// Instructions are not times.
	counted := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 2, run: func(r *result.Run) { r.Clock = result.ClockInstructions },
		trial: func(x *result.Trial) {
			for i := range x.Measurements {
				if x.Measurements[i].Metric == result.Wall {
					x.Measurements[i] = result.Measurement{Phase: x.Measurements[i].Phase, Metric: result.Instructions, Value: 1e9, Unit: "1"}
				}
			}
		}}.source(t)
	o = ask(t, "max-write=1s", "read", counted).Orders[0]
	if len(o.Excluded) != 0 || !strings.Contains(o.Places[0].Doubt[0].Text, "counts instructions and has no times") {
		t.Errorf("instructions: %+v", o)
	}
	emulated := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 2, run: func(r *result.Run) { r.Emulated = true }}.source(t)
	if a := ask(t, "max-write=1s", "read", emulated); !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "do not transfer to hardware") }) || a.Reach == "" {
		t.Errorf("emulated: %q", a.Warnings)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"fast": "unknown need \"fast\"; the needs are", "": "power-loss-safe", "power-loss-safe=1": "takes no value",
		"min-size": "is not a size", "min-size=0": "is not a size", "min-size=lots": "is not a size", "min-size=64MB": "is not a size",
		"max-nothing=1s": "no study measures \"nothing\"; the measures are boot, mount", "max-boot": "is not a time", "max-boot=-1s": "is not a time", "max-boot=1MiB": "is not a time",
		"max-space=1s": "is not a size", "max-": "unknown need", "max-boot=NaN": "is not a time", "max-boot=Infs": "is not a time", "max-boot=1e99s": "is not a time",
	} {
		_, err := ParseNeed(text)
		refusal(t, err, want)
	}
	for text, want := range map[string]string{
		"=3": "names no measure", "": "names no measure", "write=": "must be a number above 0", "write=0": "must be a number", "write=-1": "must be a number",
		"write=NaN": "must be a number", "write=Inf": "must be a number", "write=1e9": "must be a number",
	} {
		_, err := ParseWeight(text)
		refusal(t, err, want)
	}
	for text, want := range map[string]Need{
		"max-boot=0.5s": {Name: "max-boot", Column: "boot", Limit: 0.5, Unit: "s"}, "max-mount=200ms": {Name: "max-mount", Column: "mount", Limit: 0.2, Unit: "s"}, "max-boot=2min": {Name: "max-boot", Column: "boot", Limit: 120, Unit: "s"},
		"max-boot=0.5": {Name: "max-boot", Column: "boot", Limit: 0.5, Unit: "s"}, "max-space=40MiB": {Name: "max-space", Column: "space", Limit: 40 << 20, Unit: "B"}, "max-space=1G": {Name: "max-space", Column: "space", Limit: 1 << 30, Unit: "B"},
		"min-size=64MiB": {Name: "min-size", Column: "", Limit: 64 << 20, Unit: "B"}, " min-size=512K ": {Name: "min-size", Column: "", Limit: 512 << 10, Unit: "B"}, "max-threads=3": {Name: "max-threads", Column: "threads", Limit: 3, Unit: "1"},
		"max-elc-2015/mount=1s": {Name: "max-elc-2015/mount", Column: "elc-2015/mount", Limit: 1, Unit: "s"}, "max-fill=2s": {Name: "max-fill", Column: "fill", Limit: 2, Unit: "s"},
	} {
		got, err := ParseNeed(text)
		if err != nil || got.Name != want.Name || got.Column != want.Column || got.Unit != want.Unit || math.Abs(got.Limit-want.Limit) > 1e-9*want.Limit {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// Profiles consist of existing needs and keys, and each key means only one
// thing, whatever runs are joined.
func TestProfiles(t *testing.T) {
	for _, p := range Profiles {
		if len(p.Needs) == 0 || len(p.Weights) == 0 || p.About == "" {
			t.Errorf("%s is empty", p.Name)
		}
		for _, n := range p.Needs {
			if _, err := ParseNeed(n.Name); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		seen := map[string]bool{}
		for _, w := range p.Weights {
			if got := inStudies(w.Key); len(got) != 1 || got[0].level || seen[w.Key] {
				t.Errorf("%s: %s is measured by %+v", p.Name, w.Key, got)
			}
			seen[w.Key] = true
		}
		if got, ok := ProfileByName(p.Name); !ok || got.About != p.About {
			t.Errorf("%s is not found", p.Name)
		}
	}
	a := ask(t, "", "", made{study: "bootlin-2023", id: "r1", rounds: 3, candidates: study.All[0].Scales["quick"].Candidates, noise: 0.02, seed: 1}.source(t))
	if len(a.Profiles) != len(Profiles) || len(a.Orders) != 0 {
		t.Errorf("%d answers, %d orders", len(a.Profiles), len(a.Orders))
	}
	for _, p := range a.Profiles {
		if p.Order.Answer == "" || len(p.Order.Places) == 0 != (p.Name == "database") {
			t.Errorf("%s: %+v", p.Name, p.Order)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"power-loss-safe", "max-boot=0.5s", "min-size=64MiB", "max-a/b=1", "write=3", "=", "max-=", "max-boot=1e308s", "write=1e-300", "max-boot=µs"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseNeed(text); err == nil {
			if n.Unit != "" && !(n.Limit > 0) || n.String() == "" {
				t.Errorf("%q: %+v", text, n)
			}
			if _, err := Make(Question{Needs: []Need{n}}, nil); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if w, err := ParseWeight(text); err == nil && (w.Key == "" || !(w.Weight > 0) || math.IsInf(w.Weight, 0)) {
			t.Errorf("%q: %+v", text, w)
		}
	})
}
