package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/needs"
)

// scene is a situation with real kernel objects, what a user types in it, and what whichfs must
// answer. Whatever the answer, whichfs must write only to storage that it permitted and the user
// named.
type scene struct {
	name  string
	stage func(*stage)
	want  answer
	says  []string // parts of the refusal
	probe reads
	// change is the event between the claim and the writes.
	change  func(*stage)
	look    bool // the device is checked before it is written to, as before a trial
	lab     bool // the agent says that it is a lab's
	common  bool // any kernel with loop devices and the usual filesystems can stage it
	virtual bool // the kernel of the virtual lab can stage it
}

type answer int

const (
	_ answer = iota
	// named: permitted with its own --destroy ID, which the refusal prints, and refused without one
	// or with another.
	named
	// refusal: refused whatever --destroy says, and no ID is recommended.
	refusal
	// ours: permitted without --destroy, since whichfs made it.
	ours
	// gone: permitted, but then no longer the device that was claimed.
	gone
	// used: permitted, but then another program starts to use it.
	used
	// kept: permitted, and the change does not affect it.
	kept
)

// reads is the answer to a probe that only reads.
type reads int

const (
	// as a device in use: refused, and read with --in-use. A free one is read.
	asUsed    reads = iota
	probed          // read although it must not be written
	notProbed       // refused
)

// stage is the environment of a scene.
type stage struct {
	*testing.T
	storage string // what the user types
	beside  string // another device of the scene
	// names are the storage's own if no name helps, and those of other devices if its own does.
	names   []string
	watched []*witness
	mounts  []string // directories
	lab     bool
	media   []string // that the guest's host watches
}

// witness holds contents that a scene must not change.
type witness struct {
	path string
	// own is the range that may change if the storage is permitted and named, from and to byte;
	// empty: none.
	own [2]int64
	// kernels is the range that the kernel itself sometimes writes (the superblock of an array, the
	// pages of swap), from and to byte; empty: none.
	kernels [2]int64
	was     []byte
	sent    string // what the kernel has written so far, by its statistics
}

// scenesVariable is set in a guest to the scenes to play: "common", "virtual", "drivers" or "exchange".
const scenesVariable = "WHICHFS_TEST_SCENES"

var scenesPlayed, wrongWrites int

// Everything that a user could name, free or in use, in situations that occur in practice. Scenes
// without special drivers run on this kernel; guests' kernels run those, too, and all others.
func TestScenes(t *testing.T) {
	where := os.Getenv(scenesVariable)
	if where == "" {
		needs.Devices(t)
	}
	scenes := slices.Concat(contentScenes, useScenes, pathScenes, changeScenes, stackScenes, flashScenes)
	if where == "exchange" {
		scenes = exchangeScenes
	}
	scenesPlayed, wrongWrites = 0, 0
	seen := map[string]bool{}
	for _, s := range scenes {
		if seen[s.name] {
			t.Errorf("two scenes are called %q", s.name)
		}
		seen[s.name] = true
		if where == "exchange" || where == s.kernel() || where == "" && s.common {
			t.Run(s.name, s.play)
		}
	}
	t.Logf("%d cases, %d wrong writes", scenesPlayed, wrongWrites)
}

// kernel is the value of scenesVariable with which a scene is played.
func (sc scene) kernel() string {
	switch {
	case sc.common:
		return "common"
	case sc.virtual:
		return "virtual"
	}
	return "drivers"
}

func (sc scene) play(t *testing.T) {
	scenesPlayed++
	defer debug.FreeOSMemory() // a guest has little
	s := &stage{T: t, lab: sc.lab}
	sc.stage(s)
	s.remember()
	switch sc.want {
	case named, gone, used, kept:
		id := s.needsName(sc.says)
		s.untouched("without the right to write")
		if id == "" {
			return
		}
		if sc.change == nil {
			s.writes(id)
			return
		}
		s.overtaken(id, sc)
	case refusal:
		s.refusedAlways(sc)
		s.untouched("despite the refusal")
	case ours:
		s.writes("")
	}
}

// needsName checks that only its own name opens the storage, and returns that name as printed by
// the refusal.
func (s *stage) needsName(says []string) string {
	s.Helper()
	r := s.isRefused("", Options{})
	if r == nil {
		return ""
	}
	id, recommended := strings.CutPrefix(r.Type, "--destroy ")
	if !recommended {
		s.Errorf("%v recommends no --destroy", r)
		return ""
	}
	id = strings.Trim(id, "'")
	s.says(r, says)
	for _, wrong := range s.wrong(id) {
		if r := s.isRefused(wrong, Options{}); r != nil && !strings.Contains(r.Error(), wrong) {
			s.Errorf("%v does not say that %q is another", r, wrong)
		}
	}
	s.reads(asUsed, true)
	return id
}

// wrong are similar names, and those of other devices.
func (s *stage) wrong(id string) []string {
	if slices.Contains(s.names, id) {
		s.Errorf("its name %s was or is another device's", id)
	}
	all := append([]string{s.storage, id + "0", id[:len(id)-1]}, s.names...)
	return slices.DeleteFunc(all, func(w string) bool { return w == id })
}

// refusedAlways tries every name of the storage, and some others.
func (s *stage) refusedAlways(sc scene) {
	s.Helper()
	for _, id := range append([]string{"", "another"}, s.names...) {
		r := s.isRefused(id, Options{})
		if r == nil {
			return
		}
		s.says(r, sc.says)
		if r.Type != "" {
			s.Errorf("%v recommends %s, and nothing helps", r, r.Type)
		}
	}
	s.reads(sc.probe, false)
}

// reads probes the storage without the right to write.
func (s *stage) reads(want reads, free bool) {
	s.Helper()
	reading := Options{ReadOnly: true}
	switch {
	case strings.HasPrefix(s.storage, "mtd:"), want == notProbed:
		if r := s.isRefused("", reading); r != nil && strings.HasPrefix(s.storage, "mtd:") && !strings.Contains(r.Error(), "raw flash cannot be probed") {
			s.Errorf("%v: raw flash is refused for another reason", r)
		}
		return
	case !free && want != probed:
		if r := s.isRefused("", reading); r != nil && r.Type != "--in-use" {
			s.Errorf("%v does not recommend --in-use", r)
		}
		reading.InUse = true
	}
	c, err := s.claim("", reading)
	if err != nil {
		s.Errorf("a probe that only reads: %v", err)
		return
	}
	if _, err := c.Discard(s.Context()); err == nil {
		s.Error("what was claimed for reading was emptied")
	}
	if write, _ := sentinelOf(c); write.Absent == "" {
		s.Error("what was claimed for reading was written to")
	}
	_ = c.Close()
}

// writes does the same as a run with permission.
func (s *stage) writes(id string) {
	s.Helper()
	c, err := s.claim(id, Options{})
	if err != nil {
		s.Errorf("with --destroy %q: %v", id, err)
		return
	}
	if err := c.Recheck(); err != nil {
		s.Errorf("before a trial: %v", err)
	}
	if _, err := c.Discard(s.Context()); err != nil {
		s.Errorf("emptying it: %v", err)
	}
	write, read := sentinelOf(c)
	if !c.Raw() && (write.Absent != "" || read.Absent != "") {
		s.Errorf("the sentinel: %q %q", write.Absent, read.Absent)
	}
	if err := c.Recheck(); err != nil {
		s.Errorf("after a trial: %v", err)
	}
	if err := c.Close(); err != nil {
		s.Error(err)
	}
	s.only(true)
}

// overtaken claims the storage, runs the change, and writes both without and with another check.
func (s *stage) overtaken(id string, sc scene) {
	s.Helper()
	c, err := s.claim(id, Options{})
	if err != nil {
		s.Errorf("with --destroy %s: %v", id, err)
		return
	}
	if err := c.Recheck(); err != nil {
		s.Errorf("before anything happens: %v", err)
	}
	sc.change(s)
	if sc.want == used {
		s.remember() // a mount writes
	}
	if !sc.look {
		_, _ = c.Discard(s.Context())
		_, _ = sentinelOf(c)
		if sc.want == used {
			s.untouched("in use")
		} else {
			s.only(sc.want == kept)
		}
	}
	err = c.Recheck()
	var g *Gone
	var r *Refusal
	switch sc.want {
	case gone:
		if !errors.As(err, &g) {
			s.Errorf("before a trial: %v, and it is another device", err)
		}
	case used:
		if !errors.As(err, &r) {
			s.Errorf("before a trial: %v, and it is in use", err)
		}
	default:
		if err != nil {
			s.Errorf("before a trial: %v", err)
		}
	}
	if sc.want == kept {
		if err := c.Close(); err != nil {
			s.Error(err)
		}
		return
	}
	s.remember()
	if absent, err := c.Discard(s.Context()); err == nil {
		s.Errorf("it was emptied (%q) although it is not there to be", absent)
	}
	if write, _ := sentinelOf(c); write.Absent == "" {
		s.Error("it was written to although it is not there to be")
	}
	_ = c.Close()
	s.untouched("after it was overtaken")
}

// sentinelOf writes and reads as before every trial.
func sentinelOf(c *Claim) (write, read Timing) { return c.Sentinel(nil) }

// claim claims the storage like a run or a probe. The claim ends with the scene.
func (s *stage) claim(destroy string, o Options) (*Claim, error) {
	s.Helper()
	spec, err := media.Parse(s.storage)
	if err != nil {
		s.Fatal(err)
	}
	o.LockWait, o.Appear, o.Work = 1, 1, os.TempDir()
	o.Lab = s.lab
	c, err := Open(context.Background(), spec, destroy, o)
	if err == nil {
		s.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// isRefused checks that storage is refused. If it is not, the storage is used as in a run, so that
// the damage shows.
func (s *stage) isRefused(destroy string, o Options) *Refusal {
	s.Helper()
	c, err := s.claim(destroy, o)
	var r *Refusal
	switch {
	case errors.As(err, &r):
	case err != nil:
		s.Errorf("with --destroy %q: %v, which is not a refusal", destroy, err)
	default:
		s.Errorf("with --destroy %q it is not refused (%+v)", destroy, o)
		_, _ = c.Discard(s.Context())
		_, _ = sentinelOf(c)
		_ = c.Close()
	}
	return r
}

func (s *stage) says(err *Refusal, says []string) {
	s.Helper()
	for _, part := range says {
		if !strings.Contains(said(err), part) {
			s.Errorf("%q does not say %q", said(err), part)
		}
	}
}

// watch makes a file, block device or raw flash a witness.
func (s *stage) watch(paths ...string) {
	for _, p := range paths {
		s.watched = append(s.watched, &witness{path: p})
	}
}

// own permits writes to the storage's own bytes of a witness.
func (s *stage) own(path string, from, to int64) {
	for _, w := range s.watched {
		if w.path == path {
			w.own = [2]int64{from, to}
		}
	}
}

// kernelWrites exempts a range that the kernel itself sometimes writes.
func (s *stage) kernelWrites(from, to int64) {
	for _, w := range s.watched {
		w.kernels = [2]int64{from, to}
	}
}

// remember records the contents of the witnesses.
func (s *stage) remember() {
	s.Helper()
	s.sync()
	for _, w := range s.watched {
		w.was, w.sent = w.contents(s), w.writes()
	}
}

// sync writes back dirty data of the witnesses' devices and the scene's mounts. Syncing the whole
// machine would be too much: it may have a device that hangs.
func (s *stage) sync() {
	s.Helper()
	for _, dir := range s.mounts {
		if fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Syncfs(fd)
			_ = unix.Close(fd)
		}
	}
	for _, w := range s.watched {
		if f, err := os.Open(w.path); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	}
}

// untouched checks that nothing at all was written.
func (s *stage) untouched(when string) {
	s.Helper()
	s.sync()
	for _, w := range s.watched {
		if at := firstDifference(w.was, w.contents(s), [2]int64{}); at >= 0 {
			s.wrongWrite("%s was written to, from byte %d on, %s", w.path, at, when)
		} else if now := w.writes(); now != w.sent {
			s.wrongWrite("%s was written to %s: %q, and before %q", w.path, when, now, w.sent)
		}
	}
	s.same()
}

// same makes the host check that its media are unchanged.
func (s *stage) same() {
	s.Helper()
	for _, m := range s.media {
		if what := s.host("compare " + m); what != "" {
			s.wrongWrite("medium %s, which was not named: %s", m, what)
		}
	}
}

// only checks that nothing but the storage's own bytes was written, and, if something must have
// been written, that those bytes were: a witness that notices nothing proves nothing.
func (s *stage) only(must bool) {
	s.Helper()
	s.sync()
	for _, w := range s.watched {
		now := w.contents(s)
		if at := firstDifference(w.was, now, w.own); at >= 0 {
			s.wrongWrite("%s was written to, from byte %d on, which was not named", w.path, at)
		}
		if must && w.own[1] > 0 && !allOf(w.was, 0xff) && firstDifference(w.was, now, [2]int64{}) < 0 {
			s.Errorf("%s holds what it held, and its emptying was not refused", w.path)
		}
	}
	s.same()
}

func (s *stage) wrongWrite(format string, args ...any) {
	s.Helper()
	wrongWrites++
	s.Errorf("WRONG WRITE: "+format, args...)
}

func (w *witness) contents(s *stage) []byte {
	b := s.contents(w.path)
	size := int64(len(b))
	clear(b[min(w.kernels[0], size):min(w.kernels[1], size)])
	return b
}

func (w *witness) writes() string {
	if w.kernels[1] > 0 {
		return ""
	}
	return sent(w.path)
}

// contents is everything behind a path, bypassing the page cache.
func (s *stage) contents(path string) []byte {
	s.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); errors.Is(err, unix.ENOENT) {
		return nil // it was removed
	} else if err != nil {
		s.Fatalf("%s: %v", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		b, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		return b
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // for reading
	size, err := unix.IoctlGetInt(int(f.Fd()), unix.BLKGETSIZE64)
	if err != nil {
		s.Fatal(err)
	}
	buf := make([]byte, size+4096)
	buf = buf[4096-uintptr(unsafe.Pointer(&buf[0]))%4096:][:size] // aligned, as direct I/O wants it
	for at := 0; at < size; {
		n, err := f.ReadAt(buf[at:min(at+1<<20, size)], int64(at))
		if err != nil {
			s.Fatalf("reading %s: %v", path, err)
		}
		at += n
	}
	return buf
}

// sent is how many sectors of a block device the kernel wrote and discarded, "" for anything else.
// Flushes do not count.
func sent(path string) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	dir := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))
	f := strings.Fields(read(dir, "stat"))
	if len(f) < 14 {
		return ""
	}
	return f[6] + " " + f[13]
}

// firstDifference is the first differing byte outside the exempt ranges; -1 if there is none.
func firstDifference(was, is []byte, except [2]int64) int {
	if is == nil {
		return -1
	}
	if len(was) != len(is) {
		return min(len(was), len(is))
	}
	for _, part := range [][2]int64{{0, except[0]}, {max(except[0], except[1]), int64(len(was))}} {
		from, to := min(part[0], int64(len(was))), min(part[1], int64(len(was)))
		const piece = 4096
		for at := from; at < to; at += piece {
			end := min(at+piece, to)
			if string(was[at:end]) == string(is[at:end]) {
				continue
			}
			for i := at; i < end; i++ {
				if was[i] != is[i] {
					return int(i)
				}
			}
		}
	}
	return -1
}
