package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
)

// Room compares what statfs calls available with what fits: it makes the filesystem on a disk in
// memory as large as the storage, and writes files of Size bytes (0: one file, which grows) until
// there is no space. Each time that another 32nd of the disk was written, the filesystem is synced
// and asked again; in the end it is known how much still fitted then. The writer is an ordinary user
// where the filesystem has owners: blocks that are reserved for root are not available either.
//
// With Block, files of Block bytes are written first, at most 20,000, and removed again: the space of
// their metadata may not come back.
//
// Only the contents of files count as what fits.
var Room = Kind{Name: "room", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if why := env.unfit(); why != "" {
		return Job{Absent: why, AbsentMetrics: roomMetrics}, nil
	}
	if min(step.Size, step.Block) < 0 || max(step.Size, step.Block) > roomChunk {
		return Job{}, result.Refuse("", "step %q: files of %d bytes after those of %d; at most %d", step.Work, step.Size, step.Block, roomChunk)
	}
	if err := LoadForFaults(env.Modules, env.Candidate); err != nil {
		return Job{}, err
	}
	size, err := env.storageSize()
	if err != nil {
		return Job{}, err
	}
	r := &filledRoom{every: size / 32, file: step.Size, before: step.Block}
	return Job{
		Simulates: true, // a full filesystem, on purpose
		Run: func(t *Tally) error {
			// The meter has turned the collector off, and this code allocates a lot.
			defer debug.SetGCPercent(debug.SetGCPercent(50))
			err := r.on(ctx, env, size&^4095)
			t.Bytes, t.Files = r.written, r.files
			return err
		},
		After: func() (Extra, error) {
			return Extra{Measurements: []result.Measurement{
				result.Figure(result.SpaceAvailable, float64(r.asked[0].available)),
				result.Figure(result.SpaceFits, float64(r.written)),
				result.Figure(result.SpaceOff, r.off()),
			}}, nil
		},
	}, nil
}}

var roomMetrics = []string{result.SpaceAvailable, result.SpaceFits, result.SpaceOff}

const (
	// roomChunk is what is written at once, in bytes, and roomLeast where no more of that fits.
	roomChunk, roomLeast = 128 << 10, 4 << 10
	// roomBefore is how many files are written and removed first, at most.
	roomBefore = 20_000
	// roomEach is how many files a directory has: some filesystems search it from its beginning.
	roomEach = 500
	// roomUser is the ordinary user (nobody).
	roomUser = 65534
	// roomPatience: all of the writing is one call, which takes minutes under emulation.
	roomPatience = 20 * time.Minute
)

// filledRoom is a disk that is being filled.
type filledRoom struct {
	every   int64 // B between two answers
	file    int64 // B, of each file; 0: one file
	before  int64 // B, of each file that is removed again; 0: none
	written int64 // B, contents of files
	files   int64
	asked   []roomAnswer
}

// roomAnswer is what statfs called available when so much had been written, both in bytes.
type roomAnswer struct{ written, available int64 }

// off is the largest difference between an answer and what still fitted then, as a share of all that
// fits.
func (r *filledRoom) off() float64 {
	worst := 0.0
	for _, a := range r.asked {
		worst = max(worst, math.Abs(float64(a.available-(r.written-a.written))))
	}
	return worst / float64(max(r.written, 1))
}

func (r *filledRoom) on(ctx context.Context, env *Env, size int64) (err error) {
	stage, err := aftermath.NewStage(aftermath.Settings{FS: env.FS, Options: env.mountOptions(), Size: size,
		Dir: filepath.Join(env.Work, "room"), Patience: aftermath.Patience{Call: roomPatience, Tool: faultPatience.Tool}, Alone: true})
	if err != nil {
		return err
	}
	defer func() {
		env.Hung = env.Hung || stage.Left()
		err = errors.Join(err, stage.Close())
	}()
	argv, err := env.makeOn(ctx, stage.Disk().Path(), size)
	if err != nil {
		return err
	}
	if err := runTool(ctx, argv); err != nil {
		return err
	}
	return stage.Use(ctx, stage.Disk().Path(), r.fill)
}

// fill runs on a thread of its own, whose user can change.
func (r *filledRoom) fill(root string) (err error) {
	path := filepath.Join(root, "files") // of the root directory some filesystems limit the entries
	if err := os.Mkdir(path, 0o755); err != nil {
		return Subject("mkdir: %v", cause(err))
	}
	dir, err := os.Open(path)
	if err != nil {
		return Subject("open a directory: %v", cause(err))
	}
	defer dir.Close() //nolint:errcheck // read only
	if unix.Chown(path, roomUser, roomUser) == nil {
		back, failed := unprivileged()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, back()) }()
	}
	chunk := make([]byte, roomChunk)
	state := uint64(1)
	for i := range chunk {
		chunk[i] = byte(splitMix(&state))
	}
	if r.before > 0 {
		if err := r.passing(dir, chunk); err != nil {
			return err
		}
	}
	if err := r.ask(dir); err != nil {
		return err
	}
	for full := false; !full; {
		if full, err = r.writeFile(dir, chunk); err != nil {
			return err
		}
	}
	return nil
}

// passing writes files and removes them.
func (r *filledRoom) passing(dir *os.File, chunk []byte) (err error) {
	first := filledRoom{every: math.MaxInt64, file: r.before, asked: []roomAnswer{{}}}
	for full := false; !full && first.files < roomBefore; {
		if full, err = first.writeFile(dir, chunk); err != nil {
			return err
		}
	}
	if err := unix.Syncfs(int(dir.Fd())); err != nil && !errors.Is(err, unix.ENOSPC) {
		return Subject("syncfs: %v", err)
	}
	for n := range first.files {
		if err := unix.Unlinkat(int(dir.Fd()), roomName(n), 0); err != nil {
			return Subject("unlink: %v", err)
		}
	}
	return nil
}

// roomName is the path of a file, counted from 0.
func roomName(number int64) string { return fmt.Sprintf("d%05d/f%07d", number/roomEach, number) }

// writeFile writes a file, to the end of the space if it is the only one.
func (r *filledRoom) writeFile(dir *os.File, chunk []byte) (full bool, err error) {
	// The user may not look up the path to the directory.
	if r.files%roomEach == 0 {
		if err := unix.Mkdirat(int(dir.Fd()), filepath.Dir(roomName(r.files)), 0o755); errors.Is(err, unix.ENOSPC) {
			return true, nil
		} else if err != nil && !errors.Is(err, unix.EEXIST) {
			return false, Subject("mkdir: %v", err)
		}
	}
	name := roomName(r.files)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if errors.Is(err, unix.ENOSPC) {
		return true, nil
	}
	if err != nil {
		return false, Subject("create: %v", err)
	}
	f := os.NewFile(uintptr(fd), name)
	r.files++
	if r.file > 0 {
		chunk = chunk[:r.file]
	}
	for err == nil {
		n := 0
		n, err = f.Write(chunk)
		if r.file > 0 && n < len(chunk) {
			n = 0 // part of a file is none
		}
		r.written += int64(n)
		if errors.Is(err, unix.ENOSPC) && r.file == 0 && len(chunk) > roomLeast {
			chunk, err = chunk[:roomLeast], nil
		}
		if err == nil && r.written-r.asked[len(r.asked)-1].written >= r.every {
			err = r.ask(dir)
		}
		if r.file > 0 {
			break
		}
	}
	if end := f.Close(); err == nil {
		err = end
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		return true, nil
	case err != nil:
		return false, Subject("write: %v", cause(err))
	}
	return false, nil
}

// ask syncs the filesystem and asks how much is available.
func (r *filledRoom) ask(dir *os.File) error {
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return err
	}
	r.asked = append(r.asked, roomAnswer{r.written, int64(st.Bsize) * int64(st.Bavail)}) //nolint:unconvert // 32 bits wide on some processors
	return nil
}

// unprivileged makes this thread act as an ordinary user towards filesystems, without the privilege
// to exceed their reserves (capabilities(7): CAP_SYS_RESOURCE), until back is called.
func unprivileged() (back func() error, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		return nil, fmt.Errorf("reading capabilities: %w", err)
	}
	less := had
	less[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	if err := unix.Capset(&header, &less[0]); err != nil {
		return nil, fmt.Errorf("dropping a capability: %w", err)
	}
	if _, err := unix.SetfsuidRetUid(roomUser); err != nil {
		return nil, err
	}
	return func() error {
		_, err := unix.SetfsuidRetUid(0)
		return errors.Join(err, unix.Capset(&header, &had[0]))
	}, nil
}
