package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/host/crash"
	"whichfs/internal/plan"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/build"
	"whichfs/internal/sys/units"
	"whichfs/internal/sys/whole"
	"whichfs/internal/wire"
)

type crashExploreCmd struct {
	Candidates []string `complete:"candidate" arg:"" optional:"" help:"Filesystems with their options, each in quotes: 'ext4 -o nobarrier' (default: ext4)."`

	Script    []string `complete:"script" help:"Use only these scripts, separated by commas (whichfs crash list shows them). With --log: the script that the log was recorded from." placeholder:"NAMES"`
	Sequences int      `help:"Instead of the scripts, run all sequences of N operations (1 or 2) from a bounded set." placeholder:"N"`
	Sample    int      `help:"Run only N of the sequences, chosen with the seed." placeholder:"N"`
	States    int      `help:"Explore at most N states of each script; where there are more, choose them with the seed." default:"2000" placeholder:"N"`
	Seed      *uint64  `help:"Seed of every random choice; recorded (default: random)." placeholder:"N"`
	Complete  int      `help:"Try all subsets when at most N writes are in flight; with more, choose subsets with the seed." default:"6" placeholder:"N"`
	Check     int      `help:"Run the filesystem's own checker on every Nth state; 0: only on states that break a promise." default:"0" placeholder:"N"`
	Machine   string   `complete:"lab|local" help:"Whose kernel mounts the states: lab (a guest, no root needed) or local (this machine's own, which needs root and --risk-this-kernel). Scripts are always recorded in the lab." default:"lab" placeholder:"NAME"`

	crashClock

	Risk bool `name:"risk-this-kernel" help:"With --machine local: mount broken filesystems on this machine's own kernel, which may crash or corrupt its own data."`

	Log         string `help:"Explore a log recorded by another tool (dm-log-writes or QEMU's blklogwrites); the candidate says how to mount it." placeholder:"FILE" type:"path"`
	Base        string `help:"Contents of the disk before the log, a raw image (default: zeros)." placeholder:"FILE" type:"path"`
	UntilDamage bool   `name:"until-damage" help:"Explore a damaged log up to the damage; the report says so."`

	Keep       string        `help:"Directory for the findings (default: beside the result store)." placeholder:"DIR" type:"path"`
	NoMinimise bool          `name:"no-minimise" help:"Keep findings as found, without searching for the smallest state that shows the same."`
	Patience   time.Duration `help:"Time after which a system call counts as hung." default:"20s" placeholder:"TIME"`

	pages `group:"Output"`
}

func (c *crashExploreCmd) Run(a *shell) error {
	if len(c.Candidates) == 0 {
		c.Candidates = []string{"ext4"}
	}
	candidates, err := app.Candidates(c.Candidates)
	if err != nil {
		return err
	}
	at := app.CrashPlace{Machine: c.Machine, Clock: c.Clock, Risk: c.Risk}
	if err := at.Settle(); err != nil {
		return err
	}
	if err := c.check(candidates); err != nil {
		return err
	}
	if err := c.files().check(); err != nil {
		return err
	}
	out := report.Crash{Version: build.Version(), Machine: c.Machine, Clock: at.Clock, Started: time.Now(), Seed: plan.NewSeed()}
	if c.Seed != nil {
		out.Seed = *c.Seed
	}
	at.Seed = out.Seed
	order := wire.Explore{States: states.Options{Seed: out.Seed, Most: c.States, Complete: c.Complete}, Check: c.Check,
		Minimise: !c.NoMinimise, Patience: c.Patience.Seconds()}
	if order.Scripts, out.Asked, err = c.scripts(out.Seed); err != nil {
		return err
	}
	job := crash.Order{Explore: order}
	if c.Log != "" {
		job.Given = "log"
		if job.Files, job.Size, err = c.given(&out); err != nil {
			return err
		}
	}
	keep, err := c.keep(a, out.Started)
	if err != nil {
		return err
	}
	return c.explore(a, at, candidates, job, keep, out)
}

// check rejects impossible combinations before anything is started.
func (c *crashExploreCmd) check(candidates []filesystem.Candidate) error {
	switch {
	case c.Sequences < 0 || c.Sequences > 2:
		return result.Refuse("", "--sequences must be 1 or 2, not %d", c.Sequences)
	case c.Sequences > 0 && len(c.Script) > 0:
		return result.Refuse("leave one of them out", "--script and --sequences exclude each other")
	case c.Sample < 0 || c.Sample > 0 && c.Sequences == 0:
		return result.Refuse("for instance --sequences 2 --sample 50", "--sample needs --sequences, and must be above 0")
	case c.States < 1:
		return result.Refuse("", "--states must be at least 1")
	case c.Complete < 1 || c.Complete > 16:
		return result.Refuse("", "--complete must be from 1 to 16: with 16 a single point can have %d states", 1<<16)
	case c.Check < 0:
		return result.Refuse("", "--check cannot be negative")
	case c.Patience <= 0:
		return result.Refuse("", "--patience must be above 0")
	case c.Log == "" && c.Base != "":
		return result.Refuse("add --log FILE", "--base needs --log: it is the contents of the disk before the log")
	case c.Log == "" && c.UntilDamage:
		return result.Refuse("add --log FILE", "--until-damage needs --log")
	case c.Log != "" && (len(c.Script) > 1 || c.Sequences > 0):
		return result.Refuse("name the script that the log was recorded from, or none", "--log takes at most one script")
	case c.Log != "" && len(candidates) > 1:
		return result.Refuse("name the filesystem of the log", "--log takes one candidate, not %d", len(candidates))
	}
	return nil
}

// scripts returns the scripts to explore and a description of the selection.
func (c *crashExploreCmd) scripts(seed uint64) ([]script.Script, string, error) {
	most := fmt.Sprintf("at most %s of each", units.Count(c.States, "state"))
	switch {
	case c.Log != "" && len(c.Script) == 0:
		return nil, fmt.Sprintf("at most %s of a given log", units.Count(c.States, "state")), nil
	case c.Log != "":
		s, err := scriptNamed(c.Script[0])
		return []script.Script{s}, fmt.Sprintf("at most %s of a log of %s", units.Count(c.States, "state"), s.Name), err
	}
	if c.Sequences == 0 {
		list, err := scriptsNamed(c.Script)
		return list, units.Count(len(list), "script") + ", " + most, err
	}
	list := script.Sequences(c.Sequences)
	asked := fmt.Sprintf("all %d sequences of %s", len(list), units.Count(c.Sequences, "operation"))
	if c.Sample > 0 && c.Sample < len(list) {
		asked = fmt.Sprintf("%d of %d sequences of %s", c.Sample, len(list), units.Count(c.Sequences, "operation"))
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same seed must give the same sequences
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:c.Sample]
	}
	return list, asked + ", " + most, nil
}

// given returns the files that make up a log recorded by another tool, in the form the agent takes.
// size is the size of the disk, in bytes.
func (c *crashExploreCmd) given(out *report.Crash) (files map[string][]byte, size int64, err error) {
	file, length, err := openRegular(c.Log)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close() //nolint:errcheck // read only
	l, err := writelog.Read(file, length)
	var damage *writelog.Damage
	switch {
	case errors.As(err, &damage) && len(l.Entries) > 0 && c.UntilDamage:
		out.Warnings = append(out.Warnings, fmt.Sprintf("%v. Only the %s before it are explored.", err, plural(len(l.Entries), "entry", "entries")))
	case errors.As(err, &damage) && len(l.Entries) > 0:
		return nil, 0, result.Refuse("--until-damage explores the entries before it", "%s: %v", c.Log, err)
	case err != nil:
		return nil, 0, result.Refuse("it must be in the format of dm-log-writes", "%s: %v", c.Log, err)
	}
	out.Given = c.Log
	var b bytes.Buffer
	if err := l.Write(&b); err != nil {
		return nil, 0, err
	}
	files = map[string][]byte{"log": b.Bytes()}
	if c.Base == "" {
		return files, diskOf(l), nil
	}
	image, err := readBase(c.Base)
	if err != nil {
		return nil, 0, err
	}
	var packed bytes.Buffer
	if err := image.Encode(&packed); err != nil {
		return nil, 0, err
	}
	files["base"] = packed.Bytes()
	return files, max(image.Size, diskOf(l)), nil
}

// diskOf returns the smallest size that the disk of a log can have had, in whole MiB.
func diskOf(l writelog.Log) int64 {
	end := uint64(0)
	for _, e := range l.Entries {
		if e.Flags&writelog.Mark == 0 {
			end = max(end, e.Sector+e.Sectors)
		}
	}
	const mib = 1 << 20
	return (int64(end)*writelog.SectorSize + mib - 1) / mib * mib
}

// keep returns the directory for findings; it is created once there are any.
func (c *crashExploreCmd) keep(a *shell, started time.Time) (string, error) {
	dir := c.Keep
	if dir == "" {
		var err error
		if dir, err = a.Evidence("crash-" + app.NewID(started)); err != nil {
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", result.Refuse("name a directory", "--keep: %s is not a directory", dir)
	}
	return dir, nil
}

// explore explores each candidate in turn. On an error it still shows what it has found so far.
func (c *crashExploreCmd) explore(a *shell, at app.CrashPlace, candidates []filesystem.Candidate, job crash.Order, keep string, out report.Crash) error {
	show := a.working("")
	var ended error
	for i, candidate := range candidates {
		job.Candidate = candidate
		name := candidate.String()
		one, r, err := a.Explore(a.ctx, at, job, func(p wire.Progress) {
			p.Share = (float64(i) + p.Share) / float64(len(candidates))
			p.What = name + ", " + p.What
			show.progress(p)
		})
		out.Kernel, out.Emulated = cmp.Or(r.Facts.Kernel, out.Kernel), r.Emulated || out.Emulated
		if deaths := app.DeathsOf(name, r.Deaths); deaths != "" {
			out.Warnings = append(out.Warnings, deaths)
		}
		if kept := keepFindings(keep, &one); kept != nil {
			err = errors.Join(err, kept)
		}
		if err != nil {
			one.Failed = err.Error()
		}
		out.Candidates = append(out.Candidates, one)
		if a.ctx.Err() != nil {
			ended = errInterrupted
			break
		}
		if err != nil {
			ended = errors.Join(ended, err)
		}
	}
	show.end(ended == nil)
	out.Seconds = time.Since(out.Started).Seconds()
	return c.conclude(a, out, ended)
}

// conclude shows and writes the findings; its exit status says whether promises were broken.
func (c *crashExploreCmd) conclude(a *shell, out report.Crash, ended error) error {
	if ended != nil && out.Looked() == 0 {
		return ended
	}
	if ended != nil {
		out.Partial = cmp.Or(ended.Error(), "ended early")
	}
	err := a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, report.CrashDoc(out), a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, report.CrashDoc(out)) },
		"json": func(w io.Writer) error { return report.CrashJSON(w, out) },
	}, c.besidesText())
	if err != nil {
		return err
	}
	switch {
	case ended != nil:
		p := *explain(ended)
		p.more = "the findings up to then are shown"
		return &p
	case out.Found():
		return &problem{code: exitFindings}
	}
	return nil
}

// keepFindings writes each finding to a file in a directory that it creates.
func keepFindings(dir string, one *report.CrashCandidate) error {
	if len(one.Findings) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the findings could not be kept: %w", err)
	}
	for i := range one.Findings {
		f := &one.Findings[i]
		path := filepath.Join(dir, findingName(f.Candidate, f.Script.Name, i+1))
		if err := whole.Write(path, func(w *os.File) error { return f.Encode(w) }); err != nil {
			return fmt.Errorf("a finding could not be kept: %w", err)
		}
		f.File = path
	}
	return nil
}

// findingName is "ext4-o-nobarrier-append-fsync-1.json", without characters that do not belong in
// file names.
func findingName(candidate, script string, number int) string {
	words := strings.FieldsFunc(candidate+" "+script, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '=' && r != '.'
	})
	return fmt.Sprintf("%s-%d.json", strings.Join(words, "-"), number)
}
