package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/sys/command"
)

// Some tests need another process: the test program itself, controlled by this variable. It prints
// one line and waits for the end of its input.
const helperVariable = "WHICHFS_TEST_HELPER"

func TestMain(m *testing.M) {
	text := os.Getenv(helperVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	words := strings.Split(text, " ")
	if err := helper(words[0], words[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func helper(what string, args []string) error {
	ctx := context.Background()
	switch what {
	case "claim": // storage, work directory, name to destroy or nothing
		spec, err := media.Parse(args[0])
		if err != nil {
			return err
		}
		c, err := Open(ctx, spec, strings.Join(args[2:], " "), Options{Work: args[1]})
		if err != nil {
			return err
		}
		fmt.Println(c.Path())
	case "part": // device, its identity, directory of records
		spec, err := media.Parse(args[0])
		if err != nil {
			return err
		}
		c, err := Open(ctx, spec, args[1], Options{Roots: Roots{Run: args[2]}})
		if err != nil {
			return err
		}
		p, err := c.Part(1<<20, 4<<20)
		if err != nil {
			return err
		}
		fmt.Println(p.Name)
	case "mount": // device, directory
		if err := PrivateMounts(); err != nil {
			return err
		}
		if err := unix.Mount(args[0], args[1], "ext4", 0, ""); err != nil {
			return err
		}
		fmt.Println("mounted")
	case "container": // directory with upper, work and lower, directory
		if err := PrivateMounts(); err != nil {
			return err
		}
		options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", args[0])
		if err := unix.Mount("overlay", args[1], "overlay", 0, options); err != nil {
			return err
		}
		if err := errors.Join(os.Chdir(args[1]), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH)); err != nil {
			return err
		}
		fmt.Println("up")
	case "guard": // number, storage, name to destroy or nothing; spaces in it
		ask(ctx, args[0], args[1], strings.Join(args[2:], " "))
	case "nobody": // storage
		for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)} {
			if err != nil {
				return err
			}
		}
		spec, err := media.Parse(args[0])
		if err != nil {
			return err
		}
		_, err = Open(ctx, spec, "", Options{Work: args[1]})
		fmt.Println(said(err))
	}
	return nil
}

// ask claims storage, empties it if permitted, and prints the result on one line.
func ask(ctx context.Context, number, text, destroy string) {
	say := func(format string, args ...any) { fmt.Printf("answer "+number+": "+format+"\n", args...) }
	spec, err := media.Parse(text)
	if err != nil {
		say("%v", err)
		return
	}
	c, err := Open(ctx, spec, destroy, Options{Lab: true}) // it is asked in a guest
	if err != nil {
		say("%s", said(err))
		return
	}
	note, err := c.Discard(ctx)
	write, read := c.Sentinel(nil)
	if write.Seconds > 0 && read.Seconds > 0 {
		write.Absent = "took time"
	}
	say("raw %v, emptied (%s, %v), sentinel %s, recheck %v, close %v", c.Raw(), note, err, write.Absent, c.Recheck(), c.Close())
}

// other starts a helper and returns the line that it printed. finish tells it to end; kill kills
// it.
func other(t *testing.T, words ...string) (line string, process *command.Process) {
	t.Helper()
	in, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	theirs, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	process, err = command.Start(command.Options{Stdin: in, Stdout: out, Env: []string{helperVariable + "=" + strings.Join(words, " ")},
		Contain: words[0] == "mount" || words[0] == "claim" || words[0] == "container"}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	_ = out.Close()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = process.Kill()
		_ = theirs.Close()
	})
	line, err = bufio.NewReader(theirs).ReadString('\n')
	if err != nil {
		t.Fatalf("helper %v: %v", words, err)
	}
	return strings.TrimSpace(line), process
}

// loop makes a loop device with a zeroed file, like another program. It is a user's device to the
// code under test.
func loop(t *testing.T, size int64, flags uint32) (path string, file *os.File) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "image")
	if err != nil {
		t.Fatal(err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close() //nolint:errcheck // nothing was written
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	c := &Claim{o: Options{Roots: Roots{}.filled()}}
	if err := c.attach(context.Background(), control, file, "test"); err != nil {
		t.Fatal(err)
	}
	if flags != 0 {
		info, err := unix.IoctlLoopGetStatus64(int(c.node.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		info.Flags |= flags
		if err := unix.IoctlLoopSetStatus64(int(c.node.Fd()), info); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = c.node.Close(); _ = file.Close() })
	return c.path, file
}

// run runs a tool that the test needs.
func run(t *testing.T, argv ...string) {
	t.Helper()
	if path, err := command.Look(argv[0]); err == nil {
		argv[0] = path
	}
	if _, err := command.Run(context.Background(), command.Options{}, argv...); err != nil {
		t.Fatal(err)
	}
}
