package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/memory"
	"whichfs/internal/target/workload"
)

// childArg is the first argument of this program when it is one side of a comparison, followed by
// KIND MOUNT ARCHIVE STREAM-SIZE.
const childArg = "one-phase"

const streamSeed = 1

// Child performs one side of a comparison if the arguments request it, and reports whether they
// did. The benchmark starts its own program with such arguments.
func Child(args []string) (bool, error) {
	if len(args) != 5 {
		return false, nil
	}
	switch args[0] {
	case childArg:
		return true, child(args[1], args[2], args[3], args[4])
	case bonnieArg:
		return true, bonnieChild(args[1], args[2], args[3], args[4], os.Stdout)
	case reportArg:
		return true, oneReport(args[1], args[2], args[3], args[4], os.Stdout)
	}
	return false, nil
}

func child(kind, mount, archive, size string) error {
	fs, ok := filesystem.ByName("ext4")
	if !ok {
		return fmt.Errorf("unknown filesystem ext4")
	}
	work, ok := workload.ByName(kind)
	if !ok {
		return fmt.Errorf("unknown kind of work %q", kind)
	}
	env := &workload.Env{FS: fs, Mount: mount, Mounted: true, Work: filepath.Dir(mount),
		Trees: map[string]*memory.Tree{}, Streams: map[string]*memory.Stream{}}
	step := scenario.Step{Work: kind, Dir: "data"}
	if n, err := strconv.ParseInt(size, 10, 64); err != nil {
		return err
	} else if n > 0 {
		step.Data = "data"
		if env.Streams["data"], err = memory.NewStream("data", streamSeed, n); err != nil {
			return err
		}
	}
	if archive != "" {
		step.Data = "data"
		f, err := os.Open(archive)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if env.Trees["data"], err = memory.LoadTree("data", f, info.Size()); err != nil {
			return err
		}
	}
	job, err := work.Setup(context.Background(), env, step)
	if err != nil {
		return err
	}
	// As in the agent's meter.
	runtime.GC()
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	in := bufio.NewReader(os.Stdin)
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	var t workload.Tally
	if err := job.Run(&t); err != nil {
		return err
	}
	_, err = fmt.Println("done", t.Files, t.Bytes)
	return err
}

// phase performs our side of a comparison in a separate process and returns its seconds.
func (b *bench) phase(cmp comparison) (float64, error) {
	archive, size, want := "", int64(0), b.data.bytes
	if cmp.Stream {
		want = b.Stream
	}
	switch {
	case cmp.Load && cmp.Stream:
		size = b.Stream
	case cmp.Load:
		archive = b.data.archive
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	p, err := command.Start(command.Options{Stdin: inR, Stdout: outW},
		self, childArg, cmp.Work, b.disk.mount, archive, strconv.FormatInt(size, 10))
	_, _ = inR.Close(), outW.Close()
	defer inW.Close()  //nolint:errcheck // the child has ended
	defer outR.Close() //nolint:errcheck // likewise
	if err != nil {
		return 0, err
	}
	said := bufio.NewReader(outR)
	var seconds float64
	var files, bytes int64
	for _, word := range []string{"ready", "done"} {
		begin := time.Now()
		if word == "done" {
			_, _ = inW.WriteString("go\n")
		}
		line, err := said.ReadString('\n')
		seconds = time.Since(begin).Seconds()
		if err != nil || !strings.HasPrefix(line, word) {
			<-p.Done()
			return 0, fmt.Errorf("our %s: %q: %w", cmp.Work, line, p.Err())
		}
		if word == "done" {
			_, _ = fmt.Sscanf(line, "done %d %d", &files, &bytes)
		}
	}
	<-p.Done()
	if cmp.Reads && bytes != want && p.Err() == nil {
		return 0, fmt.Errorf("our %s: %d bytes read of %d", cmp.Work, bytes, want)
	}
	return seconds, p.Err()
}
