package workload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// CrashStates judges the states that a power loss can leave of a filesystem while the scripts of
// the library run, at most Ops in all, drawn with Seed: scripts that rely only on promises, or with
// Fault "careless" the others. The disk is one in memory, of a size that suits the filesystem; the
// storage of the trial is not used. A state that kills the kernel ends the trial: whichfs crash
// explore survives that.
var CrashStates = Kind{Name: fault.CrashStates, Setup: setupCrashStates}

const (
	// crashStatesEach is how many states of a script are judged by default.
	crashStatesEach = 100
	// crashStatesChecked: the filesystem's tool checks every Nth state.
	crashStatesChecked = 25
	// crashNotes is how many findings become notes, and crashFiles how many are kept as files.
	crashNotes = 5
	crashFiles = 20
)

func setupCrashStates(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if env.FS.ReadOnly || env.Raw {
		return Job{Absent: "only a filesystem that is written on a block device leaves crash states"}, nil
	}
	if err := LoadForFaults(env.Modules, env.Candidate); err != nil {
		return Job{}, err
	}
	work := filepath.Join(env.Work, "crash")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return Job{}, err
	}
	r := &crashRun{order: crashOrder(env.Candidate, step)}
	host := explore.Host{Found: r.found, Each: guest.Ours()}
	return Job{
		Run: func(t *Tally) error {
			// The meter has turned the collector off, and this code allocates a lot.
			defer debug.SetGCPercent(debug.SetGCPercent(50))
			// It has also locked this goroutine to its thread, and the states come out of a
			// coroutine (iter.Pull), which is then bound to that thread.
			ended := make(chan error, 1)
			go func() {
				var err error
				r.order.Limit = crashTime(ctx)
				r.out, err = explore.Explore(ctx, r.order, nil, work, host)
				ended <- err
			}()
			if err := <-ended; err != nil {
				return err
			}
			for _, s := range r.out.Scripts {
				t.Ops += s.States
			}
			return nil
		},
		After: r.after,
	}, nil
}

// crashTime is how long new states are begun, in seconds: the rest of the step's time, less a part
// in which findings are judged once more. 0: no limit.
func crashTime(ctx context.Context) float64 {
	end, limited := ctx.Deadline()
	if !limited {
		return 0
	}
	return max(0.8*time.Until(end).Seconds(), 0.001)
}

// crashOrder divides the states among the scripts of the library.
func crashOrder(candidate filesystem.Candidate, step scenario.Step) wire.Explore {
	scripts := slices.DeleteFunc(script.Library(), func(s script.Script) bool { return s.Careless != (step.Fault == fault.Careless) })
	most := crashStatesEach
	if step.Ops > 0 {
		scripts = scripts[:min(len(scripts), step.Ops)]
		most = step.Ops / max(len(scripts), 1)
	}
	return wire.Explore{Candidate: candidate, Scripts: scripts, Check: crashStatesChecked,
		States: states.Options{Seed: step.Seed, Most: most}}
}

// crashRun holds the results of an exploration so far.
type crashRun struct {
	order    wire.Explore
	out      wire.Explored
	findings []finding.Finding // in their final form, at most crashFiles
	more     int               // further ones
}

// found stores findings in their final form, which replaces an earlier one.
func (r *crashRun) found(_ wire.Looking, f finding.Finding) error {
	for i, had := range r.findings {
		if had.Script.Name == f.Script.Name && explore.Key(had) == explore.Key(f) {
			r.findings[i] = f
			return nil
		}
	}
	if len(r.findings) == crashFiles {
		r.more++
		return nil
	}
	r.findings = append(r.findings, f)
	return nil
}

func (r *crashRun) after() (Extra, error) {
	var all finding.Tally
	var x Extra
	warn := func(text string) { x.Notes = append(x.Notes, result.Note{Level: result.Warning, Text: text}) }
	for _, s := range r.out.Scripts {
		all.Add(s)
		if s.Stopped != "" {
			warn(fmt.Sprintf("crash states of %s: %s", s.Script, s.Stopped))
		}
	}
	x.Measurements = aftermath.StateMeasurements(all)
	for i, f := range r.findings {
		if i < crashNotes {
			warn("crash states of " + f.Summary())
		}
		var b bytes.Buffer
		if err := f.Encode(&b); err != nil {
			return Extra{}, err
		}
		x.Artifacts = append(x.Artifacts, result.Artifact{Name: fmt.Sprintf("crash-%d.json", i+1), Text: b.String()})
	}
	if rest := len(r.findings) + r.more - crashNotes; rest > 0 {
		warn(fmt.Sprintf("and %d more findings about crash states", rest))
	}
	return x, nil
}
