package workload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/ioc"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
)

// Ability tries an ability of the candidate's filesystem on a disk in memory, beside the storage
// under test. That its tools report success shows nothing: filesystem.Abilities says what does. The
// figure is 1, or absent with the reason.
var Ability = Kind{Name: "ability", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	absent := func(why string) (Job, error) {
		return Job{Absent: why, AbsentMetrics: []string{result.Able}}, nil
	}
	a := filesystem.Ability(step.Ability)
	if !slices.ContainsFunc(filesystem.Abilities, func(known filesystem.KnownAbility) bool { return known.Name == a }) {
		return Job{}, result.Refuse("", "unknown ability %q", step.Ability)
	}
	if env.Raw {
		return absent("abilities are tried on block devices")
	}
	means, lack := env.FS.Can(a)
	if lack != "" {
		return absent("it " + lack)
	}
	if available, _, err := memoryLeft(); err == nil && available < smallestMemory {
		return absent(fmt.Sprintf("a disk in memory could take more of it than is left, %d MiB", available>>20))
	}
	x := &ability{ctx: ctx, env: env, name: a, means: means, from: env.Candidate}
	if means.From != "" {
		from, err := filesystem.Parse(means.From)
		if err != nil {
			return Job{}, err
		}
		x.from = from
	}
	for _, c := range []filesystem.Candidate{env.Candidate, x.from} {
		if err := LoadForFaults(env.Modules, c); err != nil {
			return absent(err.Error())
		}
	}
	var why string
	return Job{
		Simulates: true, // a flipped bit, on purpose
		Run: func(*Tally) error {
			defer debug.SetGCPercent(debug.SetGCPercent(50)) // as in Smallest
			err := x.try()
			if err != nil && ctx.Err() == nil && !env.Hung {
				why, err = err.Error(), nil // a result
			}
			return err
		},
		After: func() (Extra, error) {
			extra := Extra{Measurements: []result.Measurement{result.FigureOr(result.Able, 1, why)}}
			if why == "" {
				extra.Notes = []result.Note{{Level: result.Info, Text: x.seen}}
			}
			return extra, nil
		},
	}, nil
}}

// The sizes of a filesystem before and after, in bytes: Btrfs shrinks to no less than 256 MiB
// (fs/btrfs/ioctl.c), and F2FS needs room to move its segments.
const (
	abilitySmall = 256 << 20
	abilityLarge = 384 << 20
)

// ability is one that is tried.
type ability struct {
	ctx   context.Context
	env   *Env
	name  filesystem.Ability
	means filesystem.Means
	from  filesystem.Candidate // that is made first
	stage *aftermath.Stage
	said  string // by the last step
	seen  string // what showed it
}

func (x *ability) try() (err error) {
	small := max(abilitySmall, (x.env.FS.MinSize(x.env.Candidate)+64<<20)&^(1<<20-1))
	large := small + abilityLarge - abilitySmall
	size := small
	if x.name == filesystem.ShrinkOnline || x.name == filesystem.ShrinkOffline {
		size = large
	}
	if most, _ := x.env.FS.MaxSize(x.env.Candidate); most < size {
		size = most &^ (1<<20 - 1)
	}
	x.stage, err = aftermath.NewStage(aftermath.Settings{FS: x.from.Filesystem(), Options: filesystem.MountData(x.from), Size: size,
		Dir: filepath.Join(x.env.Work, "ability"), Patience: faultPatience, Alone: true})
	if err != nil {
		return err
	}
	defer func() {
		x.env.Hung = x.env.Hung || x.stage.Left()
		err = errors.Join(err, x.stage.Close())
	}()
	if x.name == filesystem.OfflineImage {
		return x.image(size)
	}
	if err := runTool(x.ctx, x.from.Filesystem().Make(x.from, x.device())); err != nil {
		return err
	}
	var files string
	if err := x.use(func(root string) (err error) {
		files, err = makeFiles(root, x.env.FS.Lacks(x.env.Candidate))
		return err
	}); err != nil {
		return err
	}
	same := func(root string) error { return sameFiles(root, files) }
	switch x.name {
	case filesystem.GrowOnline, filesystem.GrowOffline:
		return x.resize(size, large, same)
	case filesystem.ShrinkOnline, filesystem.ShrinkOffline:
		return x.resize(size, small, same)
	case filesystem.Defragment:
		return x.defragment(same)
	case filesystem.Snapshot:
		return x.snapshot(files)
	case filesystem.Scrub:
		return x.scrub(same)
	case filesystem.Convert:
		if err := x.steps(filesystem.Object{}); err != nil {
			return err
		}
		x.stage.FS = x.env.FS
		if kind, err := x.blkid("TYPE"); err != nil || kind != x.env.FS.Name {
			return errors.Join(err, Subject("blkid takes it for %q", kind))
		}
		x.seen = "made of " + x.from.String()
		return x.end(same)
	case filesystem.Relabel, filesystem.NewUUID:
		return x.rename(same)
	}
	return fmt.Errorf("nothing tries %s", x.name)
}

func (x *ability) device() string { return x.stage.Disk().Path() }

// use mounts the filesystem for work, with nothing in the kernel's cache.
func (x *ability) use(work func(root string) error) error {
	if err := x.stage.Disk().Drop(); err != nil {
		return err
	}
	return x.stage.Use(x.ctx, x.device(), work)
}

// steps carries the means out on what o adds to the device; x.said is the output of the last one.
func (x *ability) steps(o filesystem.Object) error {
	o.Device = x.device()
	for _, argv := range x.means.Steps(o) {
		said, err := runAnswered(x.ctx, x.means.Answer, argv)
		if err != nil {
			return err
		}
		x.said = said
	}
	return nil
}

// exercise does the same while the filesystem is mounted, where the means need that.
func (x *ability) exercise(o filesystem.Object) error {
	if !x.means.Online(x.name) {
		return x.steps(o)
	}
	return x.use(func(root string) error {
		o.Mount = root
		return x.steps(o)
	})
}

// end mounts the filesystem once more for a last look, and has its tool check it.
func (x *ability) end(look func(root string) error) error {
	if err := x.use(look); err != nil {
		return err
	}
	if x.stage.FS.Check == nil {
		return nil
	}
	if err := x.stage.Disk().Drop(); err != nil {
		return err
	}
	argv := x.stage.FS.Check(x.device())
	r, err := command.Run(x.ctx, command.Options{}, argv...)
	switch {
	case command.Missing(err):
		return nil
	case errors.As(err, new(*command.Stuck)) || x.ctx.Err() != nil:
		return err
	}
	if said := x.stage.FS.ReadCheck(r.Status, r.Stdout+r.Stderr); !said.Clean {
		return Subject("its check after it: %s", said.Reason)
	}
	return nil
}

// runAnswered is runTool with an answer to what the tool asks, and returns its output.
func runAnswered(ctx context.Context, answer string, argv []string) (string, error) {
	r, err := command.Run(ctx, command.Options{Stdin: strings.NewReader(answer)}, argv...)
	return r.Stdout, toolFailed(ctx, argv, err)
}

func sizeOf(root string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(root, &st)
	return int64(st.Blocks) * int64(st.Bsize), err
}

// resize changes the size of the device and of the filesystem, in the right order.
func (x *ability) resize(from, to int64, same func(string) error) error {
	var before, after int64
	if err := x.use(func(root string) (err error) { before, err = sizeOf(root); return err }); err != nil {
		return err
	}
	grow := func() error {
		if to > from {
			return x.stage.Disk().Resize(to)
		}
		return nil
	}
	work := func(root string) error {
		return errors.Join(grow(), x.steps(filesystem.Object{Mount: root, Size: to}))
	}
	var err error
	if x.means.Online(x.name) {
		err = x.use(work)
	} else {
		err = work("")
	}
	if err != nil {
		return err
	}
	if err := x.stage.Disk().Drop(); err != nil {
		return err
	}
	if to < from {
		if err := x.stage.Disk().Resize(to); err != nil {
			return err
		}
	}
	if err := x.end(func(root string) (err error) {
		if after, err = sizeOf(root); err != nil {
			return err
		}
		return same(root)
	}); err != nil {
		return err
	}
	if (after > before) != (to > from) || after == before {
		return Subject("statfs shows %d bytes before and %d after", before, after)
	}
	x.seen = fmt.Sprintf("%d MiB before and %d MiB after by statfs", before>>20, after>>20)
	return nil
}

// snapshot changes a file after the snapshot.
func (x *ability) snapshot(files string) error {
	if err := x.use(func(root string) error {
		if err := x.steps(filesystem.Object{Mount: root}); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, abilityFiles, "0"), []byte("changed"), 0o600)
	}); err != nil {
		return err
	}
	dir, options := x.means.View(x.said)
	return x.end(func(root string) (err error) {
		if sameFiles(root, files) == nil {
			return Subject("the filesystem has its old content after a change")
		}
		at := filepath.Join(root, dir)
		if options != nil {
			at = root + "-snapshot"
			if err := os.Mkdir(at, 0o700); err != nil {
				return err
			}
			flags, data := filesystem.MountFlags(options)
			if err := unix.Mount(x.device(), at, x.stage.FS.Name, flags, data); err != nil {
				_ = os.Remove(at)
				return Subject("mounting the snapshot: %v", err)
			}
			defer func() { err = errors.Join(err, unix.Unmount(at, 0), os.Remove(at)) }()
		}
		x.seen = "the snapshot has the old content, the filesystem the new one"
		return sameFiles(at, files)
	})
}

// scrub has to pass, and to fail once a bit of a file is flipped.
func (x *ability) scrub(same func(string) error) error {
	if err := x.exercise(filesystem.Object{}); err != nil {
		return err
	}
	if err := x.use(same); err != nil {
		return err
	}
	if err := x.stage.Disk().Drop(); err != nil {
		return err
	}
	largest := abilityContent(abilityCount - 1)
	at := bytes.Index(x.stage.Disk().Bytes(), largest[8192:8192+64])
	if at < 0 {
		return errors.New("the content of a file is not found on the disk")
	}
	flipBit(x.stage.Disk(), at)
	err := x.exercise(filesystem.Object{})
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.SubjectFailed {
		return errors.Join(err, Subject("it does not report a flipped bit of a file"))
	}
	x.seen = "it passed, and after one flipped bit: " + f.Reason
	return nil
}

// flipBit flips a bit of the byte at a place of a disk.
func flipBit(d *blockdev.Disk, at int) { d.Bytes()[at] ^= 1 }

// rename gives it another label or UUID.
func (x *ability) rename(same func(string) error) error {
	tag, label := "UUID", ""
	if x.name == filesystem.Relabel {
		tag, label = "LABEL", "WHICHFS"
	}
	before, err := x.blkid(tag)
	if err != nil {
		return err
	}
	if err := x.exercise(filesystem.Object{Label: label}); err != nil {
		return err
	}
	after, err := x.blkid(tag)
	if err != nil {
		return err
	}
	if after == before || label != "" && after != label {
		return Subject("blkid reads %q before and %q after", before, after)
	}
	x.seen = fmt.Sprintf("blkid reads %q before and %q after", before, after)
	return x.end(same)
}

// blkid reads a tag of the unmounted filesystem; empty: it has none.
func (x *ability) blkid(tag string) (string, error) {
	if err := x.stage.Disk().Drop(); err != nil {
		return "", err
	}
	r, err := command.Run(x.ctx, command.Options{}, "blkid", "-p", "-o", "value", "-s", tag, x.device())
	var status *command.Error
	if errors.As(err, &status) && status.Status == 2 {
		err = nil
	}
	return strings.TrimSpace(r.Stdout), err
}

// image makes an image in a file, and writes it to the disk.
func (x *ability) image(size int64) (err error) {
	tree, image := filepath.Join(x.env.Work, "ability-tree"), filepath.Join(x.env.Work, "ability-image")
	defer func() { err = errors.Join(err, os.RemoveAll(tree), os.RemoveAll(image)) }()
	if err := os.Mkdir(tree, 0o755); err != nil { //nolint:gosec // like any root directory
		return err
	}
	files, err := makeFiles(tree, x.env.FS.Lacks(x.env.Candidate))
	if err != nil {
		return err
	}
	if !x.env.FS.ReadOnly {
		if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, size)); err != nil {
			return err
		}
	}
	if err := x.steps(filesystem.Object{Image: image, Tree: tree, Size: size}); err != nil {
		return err
	}
	f, err := os.Open(image) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	n := int64(0)
	for buf := make([]byte, 1<<20); ; {
		got, err := io.ReadFull(f, buf)
		if piece := buf[:got]; bytes.ContainsFunc(piece, func(r rune) bool { return r != 0 }) {
			copy(x.stage.Disk().Bytes()[n:], piece)
		}
		n += int64(got)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	x.seen = fmt.Sprintf("an image of %d MiB has the same files", n>>20)
	return x.end(func(root string) error { return sameFiles(root, files) })
}

// The files that an ability must keep: abilityCount in a directory, from few bytes to hundreds of
// KiB, whose content no filesystem compresses.
const (
	abilityFiles = "files"
	abilityCount = 24
)

func abilityContent(i int) []byte {
	b := make([]byte, 100+i*i*500)
	random := rand.NewChaCha8([32]byte{byte(i)})
	_, _ = random.Read(b) // never fails
	return b
}

// makeFiles makes the files, with everything that the filesystem holds, and returns what filesOf
// reads of them.
func makeFiles(root string, lacks filesystem.Lacks) (string, error) {
	dir := filepath.Join(root, abilityFiles)
	err := os.MkdirAll(dir, 0o755) //nolint:gosec // like any directory of a tree
	for i := range abilityCount {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), abilityContent(i), 0o600))
	}
	if !lacks.Symlinks {
		err = errors.Join(err, os.Symlink("1", filepath.Join(dir, "link")))
	}
	if !lacks.Owners {
		one := filepath.Join(dir, "2")
		err = errors.Join(err, os.Chown(one, 123, 45), os.Chmod(one, 0o640)) //nolint:gosec // a mode to keep
	}
	if err != nil {
		return "", Subject("writing files: %v", cause(err))
	}
	return filesOf(root)
}

// filesOf describes the files below a root: their names, modes, owners and contents.
func filesOf(root string) (string, error) {
	var out strings.Builder
	err := filepath.WalkDir(filepath.Join(root, abilityFiles), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %o %d %d ", e.Name(), st.Mode, st.Uid, st.Gid)
		switch {
		case e.Type().IsRegular():
			b, err := os.ReadFile(path) //nolint:gosec // our own
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%d %x", len(b), sha256.Sum256(b))
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			out.WriteString(to)
		}
		out.WriteByte('\n')
		return nil
	})
	return out.String(), err
}

func sameFiles(root, want string) error {
	got, err := filesOf(root)
	if err != nil {
		return Subject("reading the files back: %v", err)
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return Subject("the files are no longer the same: %q instead of %q", b[min(i, len(b)-1)], a[min(i, len(a)-1)])
		}
	}
	return nil
}

// defragment counts the extents of a file that was written in pieces.
func (x *ability) defragment(same func(string) error) error {
	var before, after int
	var sum [sha256.Size]byte
	work := func(root string) error {
		file := filepath.Join(root, "pieces")
		err := writePieces(root, file)
		if before, err = extents(file, err); err != nil {
			return err
		}
		if before < piecesLeast {
			return fmt.Errorf("a file written in pieces has only %d extents, so there is nothing to join", before)
		}
		b, err := os.ReadFile(file) //nolint:gosec // our own
		if err != nil {
			return err
		}
		sum = sha256.Sum256(b)
		if err := x.steps(filesystem.Object{Mount: root, File: file, Size: int64(len(b))}); err != nil {
			return err
		}
		after, err = extents(file, nil)
		return err
	}
	if err := x.use(work); err != nil {
		return err
	}
	if after >= before {
		return Subject("the file has %d extents before and %d after", before, after)
	}
	x.seen = fmt.Sprintf("a file has %d extents before and %d after", before, after)
	return x.end(func(root string) error {
		b, err := os.ReadFile(filepath.Join(root, "pieces")) //nolint:gosec // our own
		if err != nil || sha256.Sum256(b) != sum {
			return Subject("the file is no longer the same: %v", err)
		}
		return same(root)
	})
}

// Pieces of a file to defragment, in bytes, and their number; and the extents that it must have.
const (
	pieceSize   = 64 << 10
	pieceCount  = 32
	piecesLeast = 8
)

// writePieces writes a file in pieces, each synced, in turn with another file, which it then
// removes. If the driver keeps the pieces together nevertheless, it fills the filesystem first, and
// leaves holes of one piece.
func writePieces(root, file string) error {
	filler := filepath.Join(root, "filler")
	for _, fill := range []bool{false, true} {
		if fill { // the room of the first attempt as well
			if err := errors.Join(os.Remove(file), os.Remove(file+"-other"), leaveHoles(root, filler)); err != nil {
				return err
			}
		}
		if err := writeInTurn(file, file+"-other"); err != nil {
			return err
		}
		if n, err := extents(file, nil); err != nil || n >= piecesLeast {
			break
		}
	}
	return errors.Join(os.RemoveAll(filler), os.Remove(file+"-other"), syncFilesystem(root))
}

func writeInTurn(names ...string) error {
	random := rand.NewChaCha8([32]byte{'p'})
	piece := make([]byte, pieceSize)
	for i := range pieceCount {
		for _, name := range names {
			flags := os.O_WRONLY | os.O_CREATE
			if i == 0 {
				flags |= os.O_TRUNC
			}
			// Closed between two pieces: then nothing is preallocated for the next.
			f, err := os.OpenFile(name, flags, 0o600) //nolint:gosec // our own
			if err != nil {
				return Subject("writing in pieces: %v", cause(err))
			}
			_, _ = random.Read(piece)
			_, err = f.WriteAt(piece, int64(i)*pieceSize)
			if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
				return Subject("writing in pieces: %v", cause(err))
			}
		}
	}
	return nil
}

// leaveHoles fills the filesystem with one file, and punches holes of a piece into its beginning.
func leaveHoles(root, name string) error {
	f, err := os.Create(name) //nolint:gosec // our own
	if err != nil {
		return Subject("filling it: %v", cause(err))
	}
	defer f.Close() //nolint:errcheck // it is removed

	// What was removed is free only now.
	if err := syncFilesystem(root); err != nil {
		return err
	}
	var size int64
	for step := int64(64 << 20); step >= pieceSize; {
		if err := unix.Fallocate(int(f.Fd()), 0, size, step); err == nil {
			size += step
			continue
		} else if !errors.Is(err, unix.ENOSPC) {
			return Subject("filling it: %v", err)
		}
		step /= 2
	}
	for i := range int64(6 * pieceCount) {
		if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 2*i*pieceSize, pieceSize); err != nil {
			return Subject("punching holes: %v", err)
		}
	}
	return syncFilesystem(root)
}

func syncFilesystem(root string) error {
	dir, err := os.Open(root) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // only synced
	return unix.Syncfs(int(dir.Fd()))
}

// extents counts those of a file (Linux Documentation/filesystems/fiemap), unless there is an error
// already.
func extents(name string, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	f, err := os.Open(name) //nolint:gosec // our own
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	const syncFirst = 1
	request := struct {
		start, length                  uint64
		flags, mapped, count, reserved uint32
	}{length: ^uint64(0), flags: syncFirst}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioc.ReadWrite('f', 11, unsafe.Sizeof(request)), uintptr(unsafe.Pointer(&request))); errno != 0 {
		return 0, Subject("its extents are unknown: %v", errno)
	}
	return int(request.mapped), nil
}
