package workload

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// gnuTar and gnuCp are the programs of the published commands.
var (
	gnuTar = filesystem.Tool{Program: "tar", Package: "tar"}
	gnuCp  = filesystem.Tool{Program: "cp", Package: "coreutils"}
)

// TarNull runs tar -cf /dev/null on the copy of a tree in DIR/1. GNU tar (file_dumpable_p in its
// src/create.c) opens no regular file when its archive is /dev/null: the figure is that of listing
// directories and of asking for the status of every file, not of reading. (BusyBox's reads them all.)
var TarNull = Kind{Name: "tar-null", Program: gnuTar, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	return tool(ctx, env, step, gnuTar, func(path string, _ wanted) (run, after func() error, err error) {
		return func() error { return runTool(ctx, []string{path, "-cf", "/dev/null", "-C", firstCopy(env, step), "."}) }, nil, nil
	})
}}

// TarPipe runs tar -c on the copy of a tree in DIR/1, in records of Block bytes (10 KiB), into a pipe that a thread of the
// agent empties.
var TarPipe = Kind{Name: "tar-pipe", Program: gnuTar, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	record := int64(tarRecord)
	if step.Block > 0 {
		record = step.Block
	}
	if record%tarBlock != 0 {
		return Job{}, result.Refuse("", "step %q: records of %d bytes; tar's are multiples of %d", step.Work, record, tarBlock)
	}
	return tool(ctx, env, step, gnuTar, func(path string, want wanted) (run, after func() error, err error) {
		drain := newDrainer()
		context.AfterFunc(ctx, drain.end)
		run = func() error {
			fd, errno := drain.open()
			if errno != 0 {
				return &opError{op: "make", path: "pipe", errno: errno}
			}
			end := os.NewFile(uintptr(fd), "pipe")
			// Standard output would be kept, too.
			err := runTool(ctx, []string{path, "-b", strconv.FormatInt(record/tarBlock, 10), "-cf", "/proc/self/fd/3", "-C", firstCopy(env, step), "."}, end)
			_ = end.Close()
			n, errno := drain.wait()
			switch {
			case err != nil:
				return err
			case errno != 0:
				return &opError{op: "read", path: "pipe", errno: errno}
			case n%record != 0 || want.plan != nil && n < want.plan.written:
				return fmt.Errorf("tar wrote %d bytes, of a tree with %d, in records of %d", n, want.plan.written, record)
			}
			return nil
		}
		return run, func() error { drain.end(); return nil }, nil
	})
}}

// CpFetch runs cp -a on the copy of a tree in DIR/1, into a filesystem in memory. The copy is removed outside the clock.
var CpFetch = Kind{Name: "cp-fetch", Program: gnuCp, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	return tool(ctx, env, step, gnuCp, func(path string, want wanted) (run, after func() error, err error) {
		to := filepath.Join(env.Work, "fetched")
		if err := os.RemoveAll(to); err != nil { // of a trial that was given up
			return nil, nil, err
		}
		if want.plan != nil {
			if err := memoryFor(env.Work, step.Data, want.plan); err != nil {
				return nil, nil, err
			}
		}
		run = func() error {
			err := runTool(ctx, []string{path, "-a", firstCopy(env, step), to})
			if err != nil {
				_ = os.RemoveAll(to) // the next trial needs its memory
			}
			return err
		}
		after = func() error {
			there, err := filesBelow(to, nil)
			if err == nil && want.plan != nil && int64(there.files) != want.plan.files {
				err = Subject("cp copied %d files, but %d were written", there.files, want.plan.files)
			}
			return cmp.Or(err, os.RemoveAll(to))
		}
		return run, after, nil
	})
}}

// firstCopy is the directory that a program works on: that of the tree's first copy.
func firstCopy(env *Env, step scenario.Step) string {
	return filepath.Join(env.Mount, copyOf(env, step).Dir)
}

// tool is the job of GNU's program on a copy of a tree. Its pages are in memory before, and its version
// is noted. Others of the same name do other work, and their figures would be of that.
func tool(ctx context.Context, env *Env, step scenario.Step, gnu filesystem.Tool, make func(path string, want wanted) (run, after func() error, err error)) (Job, error) {
	path, err := command.Look(gnu.Program)
	if err != nil {
		return Job{Absent: gnu.Absent()}, nil
	}
	said, err := command.Run(ctx, command.Options{}, path, "--version")
	if ctx.Err() != nil {
		return Job{}, err
	}
	version, _, _ := strings.Cut(said.Stdout, "\n")
	if err != nil || !strings.Contains(version, "GNU") {
		return Job{Absent: fmt.Sprintf("%s is not GNU %[1]s, which does other work (on a board, --tools lab sends it)", gnu.Program)}, nil
	}
	if _, err := newTarget(env, step); err != nil {
		return Job{}, err
	}
	want, err := wantedOf(env, step)
	if err != nil {
		return Job{}, err
	}
	run, after, err := make(path, want)
	if err != nil {
		return Job{}, err
	}
	env.warm(path)
	return Job{
		Run: func(t *Tally) error {
			if want.plan != nil {
				t.Files, t.Bytes = want.plan.entries, want.plan.written
			}
			return run()
		},
		After: func() (Extra, error) {
			x := Extra{Notes: []result.Note{{Level: result.Info, Text: "the program: " + version}}}
			if after == nil {
				return x, nil
			}
			return x, after()
		},
	}, nil
}
