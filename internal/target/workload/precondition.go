package workload

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Parameters of preconditioning.
const (
	// preconditionShare of the free space is filled: nearly all of the device is then in use, and a
	// filesystem still has room to work.
	preconditionShare = 0.80
	// preconditionFile is the largest size of a file; vfat is limited to 4 GiB.
	preconditionFile = 1 << 30
	// preconditionWindows is the number of windows in one pass over the files. Nothing is steady
	// before a third of a pass: until then a device may still write into space that it has never
	// used.
	preconditionWindows = 64
	leastWindows        = preconditionWindows/3 + 1
	// leastWindow is the least that a window writes, in bytes: less would fit into the device's
	// buffer.
	leastWindow = 1 << 20
	// mostWindows is the limit: a speed that is not steady after four passes will not become so.
	mostWindows = 4 * preconditionWindows
	// PreconditionLimit bounds the total time. It is below the time after which a silent agent
	// counts as hung.
	PreconditionLimit = 5 * time.Minute
)

// Precondition brings storage to its sustained speed: it fills most of the free space of the
// mounted filesystem with incompressible files, rewrites them at random places in pieces of 4 to 64
// KiB until the speed is steady or the time is over, and removes them. It comes after mkfs, which
// discards the storage.
var Precondition = Kind{Name: "precondition", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if env.FS.ReadOnly || env.FS.NoPrecondition != "" {
		why := env.FS.NoPrecondition
		if env.FS.ReadOnly {
			why = "a read-only filesystem is not written to"
		}
		return Job{Absent: why, AbsentMetrics: preconditionMetrics}, nil
	}
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(env.Mount, &st); err != nil {
		return Job{}, Subject("statfs: %v", err)
	}
	size := int64(float64(st.Bavail) * float64(st.Bsize) * preconditionShare)
	if size < steadyWindows*leastWindow {
		return Job{}, result.Refuse("give a larger --storage", "%d bytes are too few to precondition", size)
	}
	p := newPreconditioner(size, &files{target: target, data: noise(preconditionPiece + preconditionNoise)})
	return Job{
		Run: func(t *Tally) error {
			err := p.run()
			t.Bytes += p.written
			return err
		},
		After: func() (Extra, error) { return p.extra(), nil },
	}, nil
}}

// medium is the target of a preconditioner.
type medium interface {
	open(count int) error
	write(file int, offset, length int64, seed uint64) unix.Errno
	sync(file int) unix.Errno
	remove() error
}

type preconditioner struct {
	medium  medium
	now     func() time.Duration
	size    int64 // B, of all files
	window  int64 // B
	random  uint64
	filled  int64 // B that the files hold
	written int64 // B
	speeds  []float64
	ended   string // why it ended before the speed was steady
}

func newPreconditioner(size int64, m medium) *preconditioner {
	start := time.Now()
	return &preconditioner{
		medium: m, now: func() time.Duration { return time.Since(start) }, size: size,
		window: max(leastWindow, size/preconditionWindows), random: 0x9e3779b97f4a7c15,
		speeds: make([]float64, 0, mostWindows),
	}
}

func (p *preconditioner) run() error {
	if err := p.medium.open(int((p.size + preconditionFile - 1) / preconditionFile)); err != nil {
		return err
	}
	end := p.now() + PreconditionLimit
	err := p.fill(end)
	if err == nil {
		err = p.rewrite(end)
	}
	if gone := p.medium.remove(); err == nil {
		err = gone
	}
	return err
}

const (
	preconditionPiece = 1 << 20
	preconditionNoise = 1 << 20
	pieceGrain        = 4 << 10 // B; rewritten pieces are 1 to 16 of it
	pieceGrains       = 16
)

// fill writes all files from end to end. A filesystem that is full earlier counts as filled.
func (p *preconditioner) fill(end time.Duration) error {
	for p.filled < p.size {
		if p.now() >= end {
			p.ended = "the time ended while the files were being written"
			return nil
		}
		file, offset := place(p.filled)
		n := min(preconditionPiece, p.size-p.filled, preconditionFile-offset)
		switch errno := p.medium.write(file, offset, n, p.draw()); errno {
		case 0:
		case unix.ENOSPC:
			p.size = p.filled
			continue
		default:
			return errOp("write", fileName(file), errno)
		}
		p.filled += n
		p.written += n
	}
	for file := 0; int64(file)*preconditionFile < p.filled; file++ {
		if errno := p.medium.sync(file); errno != 0 && errno != unix.ENOSPC {
			return errOp("fsync", fileName(file), errno)
		}
	}
	return nil
}

// rewrite writes windows until the last ones agree.
func (p *preconditioner) rewrite(end time.Duration) error {
	grains := p.filled / pieceGrain
	if p.ended != "" || grains < pieceGrains {
		return nil
	}
	for len(p.speeds) < mostWindows {
		begun := p.now()
		var wrote int64
		file := 0
		for wrote < p.window {
			if p.now() >= end {
				p.ended = fmt.Sprintf("the time limit of %s was reached", PreconditionLimit)
				return nil
			}
			at := int64(p.draw()%uint64(grains)) * pieceGrain
			length := int64(1+p.draw()%pieceGrains) * pieceGrain
			var offset int64
			file, offset = place(at)
			length = min(length, p.filled-at, preconditionFile-offset)
			if errno := p.medium.write(file, offset, length, p.draw()); errno == unix.ENOSPC {
				p.ended = "the filesystem had no space left for overwrites"
				return nil
			} else if errno != 0 {
				return errOp("write", fileName(file), errno)
			}
			wrote += length
			p.written += length
		}
		for file := 0; int64(file)*preconditionFile < p.filled; file++ {
			if errno := p.medium.sync(file); errno == unix.ENOSPC {
				p.ended = "the filesystem had no space left for overwrites"
				return nil
			} else if errno != 0 {
				return errOp("fsync", fileName(file), errno)
			}
		}
		took := p.now() - begun
		if took <= 0 {
			took = 1
		}
		p.speeds = append(p.speeds, float64(wrote)/took.Seconds())
		if is, _ := steady(p.speeds); is && len(p.speeds) >= leastWindows {
			return nil
		}
	}
	p.ended = fmt.Sprintf("the speed still changed after %d windows", mostWindows)
	return nil
}

// draw is the next number of a fixed sequence (xorshift64, Marsaglia 2003).
func (p *preconditioner) draw() uint64 {
	p.random ^= p.random << 13
	p.random ^= p.random >> 7
	p.random ^= p.random << 17
	return p.random
}

// place finds the file and offset of a byte of all the files.
func place(at int64) (file int, offset int64) {
	return int(at / preconditionFile), at % preconditionFile
}

var preconditionMetrics = []string{result.PreconditionBytes, result.PreconditionSpeed, result.PreconditionSteady, result.PreconditionRewritten}

// extra are the figures, and a note that summarises them.
func (p *preconditioner) extra() Extra {
	is, mean := steady(p.speeds)
	is = is && p.ended == ""
	did := fmt.Sprintf("%d MiB written, %d windows of %d KiB rewritten at random places", p.written>>20, len(p.speeds), p.window>>10)
	speed, none := fmt.Sprintf(" at %.3g MB/s", mean/1e6), ""
	if mean <= 0 {
		speed, none = "", fmt.Sprintf("only %d windows were rewritten", len(p.speeds))
	}
	flag := 0.0
	note := result.Note{Level: result.Info, Text: "the storage is preconditioned: " + did + ", steady" + speed}
	if is {
		flag = 1
	} else {
		note = result.Note{Level: result.Warning, Text: "the storage did not reach a steady speed: " + p.ended + "; " + did + speed}
	}
	return Extra{Notes: []result.Note{note}, Measurements: []result.Measurement{
		result.Figure(result.PreconditionBytes, float64(p.written)),
		result.FigureOr(result.PreconditionSpeed, mean, none),
		result.Figure(result.PreconditionSteady, flag),
		result.Figure(result.PreconditionRewritten, float64(len(p.speeds))),
	}}
}

// files are a medium in the mounted filesystem.
type files struct {
	target *target
	data   []byte // noise; each write uses another part of it
	fds    []int
	names  [][]byte
}

func fileName(n int) string { return "whichfs-precondition." + strconv.Itoa(n+1) }

func (f *files) open(count int) error {
	if err := f.target.open(); err != nil {
		return err
	}
	for n := range count {
		name := terminated(fileName(n))
		fd, errno := openat(f.target.dirFD, &name[0], createFlags, 0o600)
		if errno != 0 {
			return errOp("create", fileName(n), errno)
		}
		f.fds, f.names = append(f.fds, fd), append(f.names, name)
	}
	return nil
}

func (f *files) write(file int, offset, length int64, seed uint64) unix.Errno {
	from := int(seed % preconditionNoise)
	data := f.data[from : from+int(length)]
	for len(data) > 0 {
		n, err := unix.Pwrite(f.fds[file], data, offset)
		switch {
		case err == unix.EINTR: //nolint:errorlint // an errno as it is
		case err != nil:
			errno, ok := err.(unix.Errno) //nolint:errorlint // likewise
			if !ok {
				errno = unix.EIO
			}
			return errno
		case n == 0:
			return unix.EIO
		default:
			data, offset = data[n:], offset+int64(n)
		}
	}
	return 0
}

func (f *files) sync(file int) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_FSYNC, uintptr(f.fds[file]), 0, 0)
	return errno
}

// remove unlinks the files and syncs. Whether their space is discarded is up to the filesystem.
func (f *files) remove() error {
	defer f.target.close()
	var err error
	for n, fd := range f.fds {
		_ = closefd(fd)
		if errno := unlinkat(f.target.dirFD, &f.names[n][0], 0); errno != 0 && err == nil {
			err = errOp("unlink", fileName(n), errno)
		}
	}
	f.fds = nil
	if err == nil {
		err = f.target.sync()
	}
	return err
}

// noise is incompressible data.
func noise(size int) []byte {
	b := buffer(size)
	x := uint64(0x2545f4914f6cdd1d)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), size/8)
	for i := range words {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		words[i] = x
	}
	return b
}
