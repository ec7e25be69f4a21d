package workload

import (
	"context"
	"errors"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// Check runs the filesystem's own check, without repair, on the unmounted storage with cold caches.
// A filesystem that is not clean after a clean unmount is a failure of the subject.
var Check = Kind{Name: "check", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.FS.Check == nil {
		return Job{Absent: env.FS.NoCheck}, nil
	}
	argv := env.FS.Check(env.node())
	if _, err := command.Look(argv[0]); err != nil {
		return Job{Absent: argv[0] + " is not installed"}, nil
	}
	if err := env.dropCaches(); err != nil {
		return Job{}, err
	}
	env.warm(argv[0])
	env.rehearse(ctx, true)
	var r command.Result
	return Job{
		Computes: true,
		Run: func(*Tally) error {
			var err error
			r, err = command.Run(ctx, command.Options{}, argv...)
			var tool *command.Error
			if err != nil && (!errors.As(err, &tool) || tool.Status < 0) {
				return err
			}
			return nil
		},
		After: func() (Extra, error) {
			said := env.FS.ReadCheck(r.Status, r.Stdout+r.Stderr)
			switch {
			case said.Broken:
				return Extra{Notes: []result.Note{{Level: result.Warning, Text: argv[0] + " could not check: " + said.Reason}}}, nil
			case !said.Clean:
				return Extra{}, Subject("%s after a clean unmount: %s", argv[0], said.Reason)
			}
			return Extra{}, nil
		},
	}, nil
}}
