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

// TarNull runs tar -cf /dev/null on the copy of a tree in DIR/1. GNU tar (file_dumpable_p in its
// src/create.c) opens no regular file when its archive is /dev/null: the figure is that of listing
// directories and of asking for the status of every file, not of reading. (BusyBox's reads them all.)
var TarNull = gnu("tar-null", "tar", "tar", func(o order) (run, after func() error, err error) {
	return func() error { return runTool(o.ctx, []string{o.program, "-cf", "/dev/null", "-C", o.dir(), "."}) }, nil, nil
})

// TarPipe runs tar -c on the copy of a tree in DIR/1, in records of Block bytes (10 KiB), into a pipe that a thread of the
// agent empties.
var TarPipe = gnu("tar-pipe", "tar", "tar", func(o order) (run, after func() error, err error) {
	record := cmp.Or(o.step.Block, tarRecord)
	if record%tarBlock != 0 {
		return nil, nil, result.Refuse("", "step %q: records of %d bytes; tar's are multiples of %d", o.step.Work, record, tarBlock)
	}
	drain := newDrainer()
	context.AfterFunc(o.ctx, drain.end)
	run = func() error {
		fd, errno := drain.open()
		if errno != 0 {
			return &opError{op: "make", path: "pipe", errno: errno}
		}
		end := os.NewFile(uintptr(fd), "pipe")
		// Standard output would be kept, too.
		err := runTool(o.ctx, []string{o.program, "-b", strconv.FormatInt(record/tarBlock, 10), "-cf", "/proc/self/fd/3", "-C", o.dir(), "."}, end)
		_ = end.Close()
		n, errno := drain.wait()
		switch {
		case err != nil:
			return err
		case errno != 0:
			return &opError{op: "read", path: "pipe", errno: errno}
		case n%record != 0 || o.plan != nil && n < o.plan.written:
			return fmt.Errorf("tar wrote %d bytes, of a tree with %d, in records of %d", n, o.plan.written, record)
		}
		return nil
	}
	return run, func() error { drain.end(); return nil }, nil
})

// CpFetch runs cp -a on the copy of a tree in DIR/1, into a filesystem in memory. The copy is removed outside the clock.
var CpFetch = gnu("cp-fetch", "cp", "coreutils", func(o order) (run, after func() error, err error) {
	to := filepath.Join(o.env.Work, "fetched")
	if err := os.RemoveAll(to); err != nil { // of a trial that was given up
		return nil, nil, err
	}
	if o.plan != nil {
		if err := memoryFor(o.env.Work, o.step.Data, o.plan); err != nil {
			return nil, nil, err
		}
	}
	run = func() error {
		err := runTool(o.ctx, []string{o.program, "-a", o.dir(), to})
		if err != nil {
			_ = os.RemoveAll(to) // the next trial needs its memory
		}
		return err
	}
	after = func() error {
		there, err := filesBelow(to, nil)
		if err == nil && o.plan != nil && int64(there.files) != o.plan.files {
			err = Subject("cp copied %d files, but %d were written", there.files, o.plan.files)
		}
		return cmp.Or(err, os.RemoveAll(to))
	}
	return run, after, nil
})

// order is that of a program on the copy of a tree.
type order struct {
	ctx     context.Context
	env     *Env
	step    scenario.Step
	program string // its path
	wanted
}

// dir is the directory that the program works on: that of the tree's first copy.
func (o order) dir() string { return filepath.Join(o.env.Mount, copyOf(o.env, o.step).Dir) }

// gnu is the kind of work that GNU's program of a name does. Its pages are in memory before, and its
// version is noted. Others of the same name do other work, and their figures would be of that.
func gnu(kind, program, pack string, make func(order) (run, after func() error, err error)) Kind {
	needs := filesystem.Tool{Program: program, Package: pack}
	return Kind{Name: kind, Program: needs, Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
		path, err := command.Look(program)
		if err != nil {
			return Job{Absent: needs.Absent()}, nil
		}
		said, err := command.Run(ctx, command.Options{}, path, "--version")
		if ctx.Err() != nil {
			return Job{}, err
		}
		version, _, _ := strings.Cut(said.Stdout, "\n")
		if err != nil || !strings.Contains(version, "GNU") {
			return Job{Absent: fmt.Sprintf("%s is not GNU %[1]s, which does other work (on a board, --tools lab sends it)", program)}, nil
		}
		if _, err := newTarget(env, step); err != nil {
			return Job{}, err
		}
		want, err := wantedOf(env, step)
		if err != nil {
			return Job{}, err
		}
		run, after, err := make(order{ctx, env, step, path, want})
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
	}}
}
