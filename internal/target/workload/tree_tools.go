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
var TarNull = gnu(Kind{Name: "tar-null", Program: gnuTar}, func(ctx context.Context, program string, c copied) (run, after func() error, err error) {
	return func() error { return runTool(ctx, []string{program, "-cf", "/dev/null", "-C", c.dir(), "."}) }, nil, nil
})

// TarPipe runs tar -c on the copy of a tree in DIR/1, in records of Block bytes (10 KiB), into a pipe that a thread of the
// agent empties.
var TarPipe = gnu(Kind{Name: "tar-pipe", Program: gnuTar}, func(ctx context.Context, program string, c copied) (run, after func() error, err error) {
	record := cmp.Or(c.step.Block, tarRecord)
	if record < 0 || record%tarBlock != 0 {
		return nil, nil, result.Refuse("", "step %q: records of %d bytes; tar's are multiples of %d", c.step.Work, record, tarBlock)
	}
	var least int64
	if c.plan != nil {
		least = c.plan.written
	}
	drain := newDrainer()
	context.AfterFunc(ctx, drain.end)
	run = func() error {
		fd, errno := drain.open()
		if errno != 0 {
			return &opError{op: "make", path: "pipe", errno: errno}
		}
		end := os.NewFile(uintptr(fd), "pipe")
		// Standard output would be kept, too.
		err := runTool(ctx, []string{program, "-b", strconv.FormatInt(record/tarBlock, 10), "-cf", "/proc/self/fd/3", "-C", c.dir(), "."}, end)
		_ = end.Close()
		n, errno := drain.wait()
		switch {
		case err != nil:
			return err
		case errno != 0:
			return &opError{op: "read", path: "pipe", errno: errno}
		case n%record != 0 || n < least:
			return fmt.Errorf("tar wrote %d bytes, of a tree with %d, in records of %d", n, least, record)
		}
		return nil
	}
	return run, func() error { drain.end(); return nil }, nil
})

// CpFetch runs cp -a on the copy of a tree in DIR/1, into a filesystem in memory. The copy is removed outside the clock.
var CpFetch = gnu(Kind{Name: "cp-fetch", Program: filesystem.Tool{Program: "cp", Package: "coreutils"}}, func(ctx context.Context, program string, c copied) (run, after func() error, err error) {
	to := filepath.Join(c.env.Work, "fetched")
	if err := os.RemoveAll(to); err != nil { // of a trial that was given up
		return nil, nil, err
	}
	if c.plan != nil {
		if err := memoryFor(c.env.Work, c.step.Data, c.plan); err != nil {
			return nil, nil, err
		}
	}
	run = func() error {
		err := runTool(ctx, []string{program, "-a", c.dir(), to})
		if err != nil {
			_ = os.RemoveAll(to) // the next trial needs its memory
		}
		return err
	}
	after = func() error {
		there, err := filesBelow(to, nil)
		if err == nil && c.plan != nil && int64(there.files) != c.plan.files {
			err = Subject("cp copied %d files, but %d were written", there.files, c.plan.files)
		}
		return cmp.Or(err, os.RemoveAll(to))
	}
	return run, after, nil
})

var gnuTar = filesystem.Tool{Program: "tar", Package: "tar"}

// copied is the copy of a tree that a program works on.
type copied struct {
	env  *Env
	step scenario.Step
	wanted
}

// dir is the copy's directory: that of the tree's first copy.
func (c copied) dir() string { return filepath.Join(c.env.Mount, copyOf(c.env, c.step).Dir) }

// gnu has the kind's program, GNU's, do its work; make is given its path. Its pages are in memory
// before, and its version is noted. Others of the same name do other work, and their figures would be
// of that.
func gnu(kind Kind, make func(ctx context.Context, program string, c copied) (run, after func() error, err error)) Kind {
	kind.Setup = func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
		path, err := command.Look(kind.Program.Program)
		if err != nil {
			return Job{Absent: kind.Program.Absent()}, nil
		}
		said, err := command.Run(ctx, command.Options{}, path, "--version")
		if ctx.Err() != nil {
			return Job{}, err
		}
		version, _, _ := strings.Cut(said.Stdout, "\n")
		if err != nil || !strings.Contains(version, "GNU") {
			return Job{Absent: fmt.Sprintf("%s is not GNU %[1]s, which does other work (on a board, --tools lab sends it)", kind.Program.Program)}, nil
		}
		if _, err := newTarget(env, step); err != nil {
			return Job{}, err
		}
		want, err := wantedOf(env, step)
		if err != nil {
			return Job{}, err
		}
		run, after, err := make(ctx, path, copied{env, step, want})
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
	return kind
}
