package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/wait"
)

// The soak kills whichfs, its agents and its guests with SIGKILL at random
// moments of runs on every kind of machine. Whatever is killed and whenever: a
// trial that was reported as finished is in the store and stays unchanged, the
// run can be completed and then equals an undisturbed one, and nothing is left
// on the machine.
//
// WHICHFS_SOAK is the number of kills, WHICHFS_SOAK_SEED their seed,
// WHICHFS_SOAK_ONLY one ground ("loop") or one case of it ("loop/17"). The
// verdict depends on no timing: the duration of a run only determines the
// moments, and the test waits for everything else.

// soakKills is the number of kills in make test: one at least on each ground.
const soakKills = 10

// victim is the target of the kills.
type victim string

const (
	theHost  victim = "host"
	theAgent victim = "agent"
	theGuest victim = "guest"
)

// isOne reports whether a process is such a victim.
func (v victim) isOne(p process) bool {
	switch v {
	case theAgent:
		return p.program == "whichfs-agent"
	case theGuest:
		return strings.HasPrefix(p.program, "qemu-system-")
	case theHost:
	}
	return false
}

// ground is a kind of run that is carried out and killed repeatedly.
type ground struct {
	name    string
	root    bool
	guests  bool // of the lab
	victims []victim
	share   int // of a hundred kills
	args    []string
	// device is the size of a loop device that represents the user's own, which
	// --destroy names.
	device string
	// exact: every figure is the same at every measurement.
	exact bool
}

// soakJob keeps forked processes writing that end only when a thread of their
// parent tells them to: a process that is not killed with its parent continues
// to write for ten minutes.
const soakJob = `[global]
ioengine=psync
bs=4k
size=1m
group_reporting=1
[clock]
thread=1
rw=randwrite
time_based=1
runtime=1
exitall
[writers]
rw=randwrite
numjobs=3
time_based=1
runtime=600
`

var grounds = []ground{
	{
		name: "fake", victims: []victim{theHost}, share: 22, exact: true,
		args: []string{"bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "6", "--candidates", "ext4; xfs; btrfs -m single; erofs"},
	}, {
		name: "loop", root: true, victims: []victim{theHost, theAgent}, share: 30,
		args: []string{"bootlin-2023", "--machine", "local", "--storage", "loop:128M", "--data", "tree", "--rounds", "2", "--candidates", "ext4; erofs"},
	}, {
		name: "fio", root: true, victims: []victim{theHost, theAgent}, share: 20,
		args: []string{"job.fio", "--machine", "local", "--storage", "loop:128M", "--rounds", "1", "--candidates", "ext4; btrfs"},
	}, {
		// The study makes partitions that only the kernel knows.
		name: "device", root: true, victims: []victim{theHost, theAgent}, share: 12, device: "160M",
		args: []string{"pandora-2012", "--machine", "local", "--rounds", "1", "--candidates", "ext4"},
	}, {
		name: "lab", guests: true, victims: []victim{theHost, theGuest}, share: 8,
		args: []string{"bootlin-2023", "--machine", "lab", "--storage", "disk:64M", "--data", "tree", "--rounds", "1", "--candidates", "ext4; erofs"},
	}, {
		name: "virtual", guests: true, victims: []victim{theHost}, share: 8, exact: true,
		args: []string{"bootlin-2023", "--clock", "virtual", "--storage", "sim:sd-basic,64M", "--data", "tree", "--rounds", "2", "--candidates", "ext4; erofs"},
	},
}

// soak is all of it.
type soak struct {
	t           *testing.T
	seed        uint64
	only        string // ground, "" is every one
	onlyNumber  int    // case of it, from 1; 0 is every one
	retakes     bool   // one case in five takes disturbed trials again, for which it waits a minute on a busy machine
	agent, base string
	lab         string // directory of the lab's images

	mu     sync.Mutex
	counts map[string]*tally // by ground and victim
	phases map[string]map[string]int
	swept  map[string]int
}

// tally is a line of the table.
type tally struct{ kills, completed, violations int }

func TestSoak(t *testing.T) {
	t.Parallel()
	kills := soakKills
	s := &soak{t: t, seed: rand.Uint64(), base: t.TempDir(), agent: labtest.Guest(t, lab.Native()),
		counts: map[string]*tally{}, phases: map[string]map[string]int{}, swept: map[string]int{}}
	var err error
	if text := os.Getenv("WHICHFS_SOAK"); text != "" {
		s.retakes = true
		if kills, err = strconv.Atoi(text); err != nil || kills < 1 {
			t.Fatalf("WHICHFS_SOAK is %q and no number of kills", text)
		}
	}
	if text := os.Getenv("WHICHFS_SOAK_SEED"); text != "" {
		if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	only, number, one := strings.Cut(os.Getenv("WHICHFS_SOAK_ONLY"), "/")
	if only != "" && !slices.ContainsFunc(grounds, func(g ground) bool { return g.name == only }) {
		t.Fatalf("WHICHFS_SOAK_ONLY: there is no ground %q", only)
	}
	if s.only = only; one {
		if s.onlyNumber, err = strconv.Atoi(number); err != nil || s.onlyNumber < 1 {
			t.Fatalf("WHICHFS_SOAK_ONLY: %q is no number of a case", number)
		}
	}
	t.Logf("%d kills, seed %d", kills, s.seed)
	home, err := cache.Dir()
	if err != nil {
		t.Fatal(err)
	}
	s.lab = filepath.Join(home, "lab")

	var wg sync.WaitGroup
	left, began := kills, time.Now()
	for i, g := range grounds {
		share := (kills*g.share + 50) / 100
		switch {
		case s.only == g.name:
			share = kills
		case s.only != "":
			continue
		case g.root && os.Geteuid() != 0:
			continue // that kernel is refused: local.txtar
		case i == len(grounds)-1:
			share = left
		}
		share = min(share, left)
		if left -= share; share == 0 {
			continue
		}
		wg.Go(func() { s.on(g, share) })
	}
	wg.Wait()
	t.Logf("after %s, seed %d\n%s", time.Since(began).Round(time.Second), s.seed, s.table())
}

// on kills on one ground, the required number of times.
func (s *soak) on(g ground, kills int) {
	ref, err := s.undisturbed(g)
	if err != nil {
		s.t.Errorf("%s, undisturbed: %v", g.name, err)
		return
	}
	s.t.Logf("%s, undisturbed: %s until the first of %d trials, %s for them, %s after them",
		g.name, ref.before.Round(time.Millisecond), len(ref.slots), ref.during.Round(time.Millisecond), ref.after.Round(time.Millisecond))
	done := 0
	for number := 1; done < kills; number++ {
		if s.onlyNumber > 0 {
			if number != s.onlyNumber {
				continue
			}
			done = kills
		}
		if end, ok := s.t.Deadline(); ok && time.Until(end) < wait.Patience {
			s.t.Errorf("%s: only %d of %d kills in the time that go test -timeout leaves", g.name, done, kills)
			return
		}
		if number > 20+5*kills {
			s.t.Errorf("%s: after %d runs there were only %d kills: the others ended too early", g.name, number, done)
			return
		}
		c := &soakCase{soak: s, ground: g, ref: ref, number: number, most: kills - done, seen: map[int64]result.Trial{}}
		if s.onlyNumber > 0 {
			c.most = kills
		}
		err := c.play()
		done += c.killed
		s.count(g.name, c.last, func(t *tally) {
			if err != nil {
				t.violations++
			} else if c.killed > 0 {
				t.completed++
			}
		})
		if err != nil {
			s.t.Errorf("%s/%d: %v\n%s\nagain: make soak SEED=%d ONLY=%s/%d", g.name, number, err, c.story(), s.seed, g.name, number)
		}
		if err := c.tidy(); err != nil {
			s.t.Errorf("%s/%d: %v", g.name, number, err)
			return
		}
	}
}

func (s *soak) count(ground string, v victim, change func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ground + " " + string(v)
	if s.counts[key] == nil {
		s.counts[key] = &tally{}
	}
	change(s.counts[key])
}

// table lists what was killed, when, and the result.
func (s *soak) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-7s %6s %10s %10s\n", "machine", "victim", "kills", "completed", "violations")
	var sum tally
	for _, g := range grounds {
		for _, v := range g.victims {
			n := s.counts[g.name+" "+string(v)]
			if n == nil {
				continue
			}
			fmt.Fprintf(&b, "%-8s %-7s %6d %10d %10d\n", g.name, v, n.kills, n.completed, n.violations)
			sum.kills, sum.completed, sum.violations = sum.kills+n.kills, sum.completed+n.completed, sum.violations+n.violations
		}
	}
	fmt.Fprintf(&b, "%-8s %-7s %6d %10d %10d\n", "all", "", sum.kills, sum.completed, sum.violations)
	fmt.Fprintf(&b, "\n%-30s", "killed")
	var names []string
	for _, g := range grounds {
		if s.phases[g.name] == nil {
			continue
		}
		fmt.Fprintf(&b, " %7s", g.name)
		names = append(names, g.name)
	}
	for _, p := range soakPhases {
		fmt.Fprintf(&b, "\n%-30s", p)
		for _, name := range names {
			fmt.Fprintf(&b, " %7d", s.phases[name][p])
		}
	}
	b.WriteString("\n\nleft for the next start to take away, kills:\n")
	for _, name := range slices.Sorted(maps.Keys(s.swept)) {
		fmt.Fprintf(&b, "%6d  %s\n", s.swept[name], name)
	}
	return b.String()
}

// reference is an undisturbed run on a ground.
type reference struct {
	before, during, after time.Duration // its first trial, all of them, the last one
	slots                 []string      // its trials, in order
	figures               map[string][]string
	files                 map[string]bool
}

// undisturbed carries out a ground's run once.
func (s *soak) undisturbed(g ground) (*reference, error) {
	c := &soakCase{soak: s, ground: g, seen: map[int64]result.Trial{}}
	defer func() { _ = c.tidy() }()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := c.start(c.begin); err != nil {
		return nil, err
	}
	if err := c.wait(); err != nil || c.status != 0 {
		return nil, fmt.Errorf("status %d, %w\n%s", c.status, err, c.said())
	}
	ended := time.Now()
	v, err := c.read()
	if err != nil || len(v.trials) == 0 {
		return nil, fmt.Errorf("%d trials, %w", len(v.trials), err)
	}
	first, last := v.trials[0].Started, v.trials[len(v.trials)-1].Ended
	r := &reference{before: first.Sub(began), during: last.Sub(first), after: ended.Sub(last), figures: map[string][]string{}, files: map[string]bool{}}
	for _, t := range v.trials {
		if t.Outcome != result.Done {
			return nil, fmt.Errorf("%s: %s in %s: %s", slot(t), t.Outcome, t.Phase, t.Reason)
		}
		r.slots = append(r.slots, slot(t))
		r.figures[slot(t)] = c.figures(t)
	}
	if err := c.nothingHeld(); err != nil {
		return nil, err
	}
	names, err := c.files()
	for _, name := range names {
		r.files[name] = true
	}
	return r, err
}

// slot is a trial's place in a run.
func slot(t result.Trial) string { return fmt.Sprintf("%d %s", t.Round, t.Named()) }

// soakCase is one run that is killed several times and then completed.
type soakCase struct {
	*soak
	*program
	ground ground
	ref    *reference
	number int
	most   int // kills
	random *rand.Rand

	begin, resume []string
	device        string   // "/dev/loop3"; "" unless the ground has one
	open          *os.File // the device, which goes with the last one that has it open
	loops         map[string]bool
	processes     []process       // that were killed, or lived when another was
	records       map[string]bool // of partitions, that were there before

	cmd    *exec.Cmd
	began  time.Time
	ended  chan struct{}
	status int
	starts int

	killed       int
	last         victim // that was killed
	agentWasLast bool   // and whichfs was not started since
	log          []string
	seen         map[int64]result.Trial // that had ended, as they were found first
}

// prepare makes everything that a run needs.
func (c *soakCase) prepare() error {
	dir := filepath.Join(c.base, fmt.Sprintf("%s-%d", c.ground.name, c.number))
	for _, d := range []string{"work", "tmp", "cache", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if c.ground.guests {
		if err := os.Symlink(c.lab, filepath.Join(dir, "cache", "lab")); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(soakJob), 0o644); err != nil {
		return err
	}
	var err error
	if c.program, err = programIn(dir, `{}`); err != nil {
		return err
	}
	if c.path, err = filepath.Abs(itself()); err != nil {
		return err
	}
	c.env = append(c.env, machine.AgentVariable+"="+c.agent, "TMPDIR="+filepath.Join(dir, "tmp"))
	if c.retakes && c.number%5 == 1 {
		c.env = append(c.env, "WHICHFS_RETAKE=true")
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", c.ground.name, c.number)
	c.random = rand.New(rand.NewPCG(c.seed, h.Sum64()))
	c.loops = map[string]bool{}
	c.records = records()
	same := []string{"--work", filepath.Join(dir, "work"), "--html", filepath.Join(dir, "out", "page.html"), "--csv", filepath.Join(dir, "out", "figures.csv")}
	c.begin = slices.Concat([]string{"run"}, c.ground.args, []string{"--seed", "11"}, same)
	c.resume = slices.Concat([]string{"resume"}, same)
	if c.ground.device == "" {
		return nil
	}
	return c.attach()
}

// attach makes the loop device that represents the user's own.
func (c *soakCase) attach() error {
	image := filepath.Join(filepath.Dir(c.dir), filepath.Base(c.dir)+".image") // not among what is ours
	if _, err := command.Run(context.Background(), command.Options{}, "truncate", "-s", c.ground.device, image); err != nil {
		return err
	}
	// It is scanned for partitions like a disk; otherwise it would start with
	// partitions left by a kill when its number belonged to another case.
	r, err := command.Run(context.Background(), command.Options{}, "losetup", "--find", "--show", "--partscan", image)
	if err != nil {
		return err
	}
	c.device = strings.TrimSpace(r.Stdout)
	if c.open, err = os.Open(c.device); err != nil {
		return err
	}
	// While in use, it stays until we close it or are killed.
	if _, err := command.Run(context.Background(), command.Options{}, "losetup", "-d", c.device); err != nil {
		return err
	}
	id, err := idOf(c.device)
	if err != nil {
		return err
	}
	c.begin = append(c.begin, "--storage", c.device, "--destroy", id)
	c.resume = append(c.resume, "--destroy", id)
	return nil
}

// start starts whichfs.
func (c *soakCase) start(args []string) error {
	c.starts++
	c.agentWasLast = false
	c.cmd, c.ended = c.command(args...), make(chan struct{})
	out, err := os.Create(c.stream("out"))
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the child has its own
	errs, err := os.Create(c.stream("err"))
	if err != nil {
		return err
	}
	defer errs.Close() //nolint:errcheck // the child has its own
	c.cmd.Stdout, c.cmd.Stderr = out, errs
	c.log = append(c.log, "whichfs "+strings.Join(args, " "))
	// It dies with the test, which for the kernel means the thread that started
	// it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.began = time.Now()
	started := make(chan error)
	go func(cmd *exec.Cmd, ended chan struct{}) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.status = statusOf(cmd.Wait())
			close(ended)
		}
	}(c.cmd, c.ended)
	err = <-started
	if err != nil {
		c.cmd = nil
	}
	return err
}

// stream is whichfs's output file of the latest start.
func (c *soakCase) stream(name string) string {
	return filepath.Join(c.dir, fmt.Sprintf("%s%d", name, c.starts))
}

// said is whichfs's standard error of the latest start.
func (c *soakCase) said() string {
	text, _ := os.ReadFile(c.stream("err"))
	return string(text)
}

// wait waits until whichfs has ended.
func (c *soakCase) wait() error {
	select {
	case <-c.ended:
		return nil
	case <-time.After(wait.Patience):
		return fmt.Errorf("it has not ended after %s", wait.Patience)
	}
}

// play carries out the case. Its error is a violation.
func (c *soakCase) play() error {
	if err := c.prepare(); err != nil {
		return err
	}
	kills := min(1+c.random.IntN(3), c.most)
	other := len(c.ground.victims) > 1 && c.random.IntN(2) == 0
	next := c.begin
	for i := range kills {
		if err := c.start(next); err != nil {
			return err
		}
		v := theHost
		if other && i == kills-1 { // so that only one trial can be lost to it
			v = c.ground.victims[1]
		}
		struck, err := c.strike(v)
		if err != nil {
			return err
		}
		if !struck || v != theHost {
			break
		}
		if next, err = c.afterHost(); err != nil {
			return err
		}
		c.cmd = nil
	}
	if c.cmd == nil {
		if err := c.start(next); err != nil {
			return err
		}
	}
	if err := c.wait(); err != nil {
		return err
	}
	if c.status == exitLab && c.last != theHost && c.last != "" {
		if err := c.gaveUp(); err != nil {
			return err
		}
	}
	if c.status != 0 {
		return fmt.Errorf("exit status %d", c.status)
	}
	return c.complete()
}

// body is the duration of the remaining trials.
func (c *soakCase) body() time.Duration {
	return c.ref.during * time.Duration(len(c.ref.slots)-c.finished()) / time.Duration(len(c.ref.slots))
}

// faster corrects the lengths by a run that ended before its moment: the first
// run may have been measured under load, and moments drawn over its length
// would mostly come too late.
func (c *soakCase) faster(took time.Duration) {
	if expected := c.ref.before + c.body() + c.ref.after; took < expected {
		for _, part := range []*time.Duration{&c.ref.before, &c.ref.during, &c.ref.after} {
			*part = time.Duration(float64(*part) * float64(took) / float64(expected))
		}
	}
}

// moment draws when to kill, after whichfs was started: in a quarter of all
// cases before its first trial, in another after the last.
func (c *soakCase) moment() time.Duration {
	body := c.body()
	from, length := c.ref.before, body
	switch c.random.IntN(4) {
	case 0:
		from, length = 0, c.ref.before
	case 1:
		from, length = c.ref.before+body, c.ref.after
	}
	return from + time.Duration(c.random.Int64N(int64(length)+1))
}

// finished is the number of trials known to have ended well.
func (c *soakCase) finished() int {
	n := 0
	for _, t := range c.seen {
		if t.Outcome == result.Done {
			n++
		}
	}
	return n
}

// strike waits for its moment and kills; false if whichfs ended before.
func (c *soakCase) strike(v victim) (bool, error) {
	moment := c.moment()
	select {
	case <-c.ended:
		c.faster(time.Since(c.began))
		return false, nil
	case <-time.After(moment):
	}
	pid := c.cmd.Process.Pid
	var l left
	for {
		var err error
		if l, err = whatIsLeft(c.dir, ""); err != nil {
			return false, err
		}
		if v == theHost {
			break
		}
		if i := slices.IndexFunc(l.Processes, v.isOne); i >= 0 {
			pid = l.Processes[i].pid
			break
		}
		select {
		case <-c.ended:
			return false, nil
		case <-time.After(time.Millisecond):
		}
	}
	for _, name := range l.loops {
		c.loops[name] = true
	}
	c.processes = append(c.processes, l.Processes...)
	var phase string
	if v != theHost {
		phase = c.phase(l)
	}
	writing := isWriting(c.cmd.Process.Pid, c.store())
	// The process may have just ended, and its number has not been reused yet: we
	// have not waited for it, unless it is an agent's or a guest's, whose parent
	// did so this instant.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return false, c.wait()
	}
	if v == theHost {
		if err := c.wait(); err != nil {
			return false, err
		}
		if c.status != -1 {
			return false, nil // it had ended
		}
		phase = c.phase(l)
	}
	if writing {
		phase = inStore
	}
	c.killed++
	c.last, c.agentWasLast = v, v == theAgent
	c.log = append(c.log, fmt.Sprintf("  kill %d: the %s (process %d), %s after the start: %s", c.killed, v, pid, moment.Round(time.Microsecond), phase))
	c.count(c.ground.name, v, func(t *tally) { t.kills++ })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phases[c.ground.name] == nil {
		c.phases[c.ground.name] = map[string]int{}
	}
	c.phases[c.ground.name][phase]++
	return true, nil
}

// Where a run was when it was killed.
const (
	inBegin   = "before there is a run"
	inSetup   = "before the first trial"
	inTrial   = "in a trial"
	inMounted = "in a trial, mounted"
	inBetween = "between trials"
	inStore   = "while the store is written"
	inClosing = "after the last trial"
)

var soakPhases = []string{inBegin, inSetup, inTrial, inMounted, inBetween, inStore, inClosing}

// phase is where the run is.
func (c *soakCase) phase(l left) string {
	v, err := c.read()
	switch {
	case err != nil || v.run == nil:
		return inBegin
	case len(v.trials) == 0:
		return inSetup
	case slices.ContainsFunc(v.trials, func(t result.Trial) bool { return t.Outcome == "" }):
		if slices.ContainsFunc(l.Held, func(text string) bool { return strings.Contains(text, "/mnt ") }) {
			return inMounted
		}
		return inTrial
	case len(v.trials) >= len(c.ref.slots):
		return inClosing
	}
	return inBetween
}

// isWriting reports whether a process holds the lock of a store's writer.
func isWriting(pid int, path string) bool {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	for _, file := range []string{path, path + "-shm"} {
		var st syscall.Stat_t
		if syscall.Stat(file, &st) != nil {
			continue
		}
		held := regexp.MustCompile(fmt.Sprintf(` WRITE +%d \S+:%d `, pid, st.Ino))
		if held.Match(locks) {
			return true
		}
	}
	return false
}

// afterHost compares the state after a kill of the host with the required one,
// and returns how to continue.
func (c *soakCase) afterHost() (next []string, err error) {
	reported := c.reported()
	if err := c.nothingHeld(); err != nil {
		return nil, err
	}
	more, err := c.more()
	if err != nil {
		return nil, err
	}
	c.noteSwept(more)
	if more = notSwept(more); len(more) > 0 {
		return nil, fmt.Errorf("left behind, and the next start does not take it away: %s", strings.Join(more, ", "))
	}
	v, err := c.check(reported)
	if err != nil {
		return nil, err
	}
	if v.run == nil {
		return c.begin, nil
	}
	if held, err := c.held(v.run.ID); err != nil || held {
		return nil, errors.Join(errors.New("the run still counts as being carried out"), err)
	}
	out, err := c.command("runs").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("whichfs runs: %w\n%s", err, out)
	}
	if v.run.State == result.Running && !strings.Contains(string(out), " killed ") {
		return nil, fmt.Errorf("the list of runs does not say that it was killed:\n%s", out)
	}
	return c.resume, nil
}

// gaveUp checks that a program that stopped after a kill of its agent or guest
// said why, and can be resumed.
func (c *soakCase) gaveUp() error {
	text := c.said()
	if !regexp.MustCompile(`(?m)^whichfs: .*(killed|died|ended|closed)`).MatchString(text) {
		return errors.New("it does not say why it stopped")
	}
	reported := c.reported()
	if err := c.nothingHeld(); err != nil {
		return err
	}
	v, err := c.check(reported)
	if err != nil {
		return err
	}
	c.log = append(c.log, "  it stopped")
	next := c.begin
	if v.run != nil {
		next = c.resume
	}
	if err := c.start(next); err != nil {
		return err
	}
	return c.wait()
}

// complete checks a run that has ended well against the reference.
func (c *soakCase) complete() error {
	v, err := c.check(c.reported())
	if err != nil {
		return err
	}
	if v.run == nil || v.run.State != result.Finished {
		return fmt.Errorf("the run is not finished: %+v", v.run)
	}
	var done []string
	lost := 0
	for _, t := range v.trials {
		switch t.Outcome {
		case result.Done:
			if !slices.Contains(done, slot(t)) { // otherwise taken again
				done = append(done, slot(t))
			}
			if want := c.ref.figures[slot(t)]; !slices.Equal(c.figures(t), want) {
				return fmt.Errorf("%s has other figures: %s", slot(t), firstDifference(c.figures(t), want))
			}
		case result.LabFailed:
			lost++
		case result.SubjectFailed, result.Refused, result.Unsupported, "":
			return fmt.Errorf("%s: %q in %s: %s", slot(t), t.Outcome, t.Phase, t.Reason)
		}
	}
	if !slices.Equal(done, c.ref.slots) {
		return fmt.Errorf("the run has %q in place of %q", done, c.ref.slots)
	}
	if lost > 0 && (lost > 1 || c.last == theHost) {
		return fmt.Errorf("%d trials were lost to the lab, and the last kill was the %s's", lost, c.last)
	}
	if err := c.nothingHeld(); err != nil {
		return err
	}
	sweeps := c.agentWasLast && lost == 0 // so no other one was started since
	// The kernel takes the partitions of a detached loop device away a moment after its file, and
	// another program may have the device by then: only what stays was left behind.
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		more, err := c.more()
		if err != nil {
			return err
		}
		behind := more
		if sweeps {
			behind = notSwept(more)
		}
		if len(behind) > 0 && time.Now().Before(deadline) {
			continue
		}
		if sweeps {
			c.noteSwept(more)
		}
		if len(behind) > 0 {
			return fmt.Errorf("left behind: %s", strings.Join(behind, ", "))
		}
		return nil
	}
}

func (c *soakCase) held(run string) (bool, error) {
	st, err := store.OpenReadOnly(c.store())
	if err != nil {
		return false, err
	}
	defer func() { _ = st.Close() }()
	return st.Held(run), nil
}

// soakView is the content of a store.
type soakView struct {
	run    *result.Run // nil: none
	trials []result.Trial
}

// read reads the store; there may be none.
func (c *soakCase) read() (v soakView, err error) {
	st, err := store.OpenReadOnly(c.store())
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Check(); err != nil {
		return v, err
	}
	runs, err := st.Runs()
	if err != nil || len(runs) == 0 {
		return v, err
	}
	if len(runs) > 1 {
		return v, fmt.Errorf("there are %d runs", len(runs))
	}
	run, err := st.Run(runs[0].Run.ID)
	if err != nil {
		return v, err
	}
	v.run = &run
	if v.trials, err = st.Trials(run.ID); err != nil {
		return v, err
	}
	for i, t := range v.trials {
		if v.trials[i].Artifacts, err = st.Artifacts(t.ID); err != nil {
			return v, err
		}
	}
	return v, nil
}

var reportedLine = regexp.MustCompile(`(?m)^\[ *\d+/\d+\] round (\d+)  (.+?) +\d+\.\d s(.*)$`)

// reported returns the trials that whichfs reported as done since its latest
// start.
func (c *soakCase) reported() (slots []string) {
	for _, m := range reportedLine.FindAllStringSubmatch(c.said(), -1) {
		if !strings.Contains(m[3], " in ") { // else it says how it failed
			slots = append(slots, m[1]+" "+m[2])
		}
	}
	return slots
}

// check reads the store and makes sure that it has all earlier content
// unchanged, and every reported trial.
func (c *soakCase) check(reported []string) (soakView, error) {
	v, err := c.read()
	if err != nil && (len(reported) > 0 || len(c.seen) > 0) {
		return v, err
	}
	if err != nil {
		c.log = append(c.log, "  no store yet: "+err.Error())
		return soakView{}, nil
	}
	now := map[int64]result.Trial{}
	had := map[string]*result.Trial{}
	for _, t := range v.trials {
		if t.Outcome == "" {
			continue
		}
		now[t.ID] = t
		if t.Outcome == result.Done {
			if before := had[slot(t)]; before != nil {
				if _, disturbed := before.Disturbed(); !disturbed || t.Attempt <= before.Attempt {
					return v, fmt.Errorf("%s is there twice", slot(t))
				}
			}
			had[slot(t)] = &t
		}
		figures := map[string]bool{}
		for _, m := range t.Measurements {
			if key := m.Phase + " " + m.Metric; figures[key] {
				return v, fmt.Errorf("%s has %s twice", slot(t), key)
			} else {
				figures[key] = true
			}
		}
	}
	for id, t := range c.seen {
		if !reflect.DeepEqual(t, now[id]) {
			return v, fmt.Errorf("%s is no longer what it was:\n%+v\n%+v", slot(t), t, now[id])
		}
	}
	c.seen = now
	for _, name := range reported {
		if had[name] == nil {
			return v, fmt.Errorf("%s was reported as done and is not in the store", name)
		}
	}
	return v, nil
}

// figures are a trial's figures, or only their names if the values differ from
// trial to trial.
func (c *soakCase) figures(t result.Trial) []string {
	var all []string
	for _, m := range t.Measurements {
		text := m.Phase + " " + m.Metric
		if c.ground.exact {
			text = fmt.Sprintf("%+v", m)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// look searches for leftovers, also on devices that were ours.
func (c *soakCase) look() (left, error) {
	var free []string
	for name := range c.loops {
		if _, err := os.Stat(filepath.Join("/sys/block", name, "loop/backing_file")); errors.Is(err, fs.ErrNotExist) {
			free = append(free, name)
		}
	}
	l, err := whatIsLeft(c.dir, strings.TrimPrefix(c.device, "/dev/"), free...)
	c.processes = slices.DeleteFunc(c.processes, func(p process) bool { return !p.ends() })
	for _, p := range c.processes {
		l.Held = append(l.Held, "the end of "+p.String())
	}
	return l, err
}

// nothingHeld waits until the kernel has released everything: it needs a moment
// to end processes, and to unmount and detach after them.
func (c *soakCase) nothingHeld() error {
	var l left
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if l, err = c.look(); err != nil || len(l.Held) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("left after %s: %s", wait.Patience, strings.Join(l.Held, "; "))
		}
	}
}

// soakSwept are the leftovers that the next start removes, and that a kill may
// therefore leave. (The partitions are those of storage that is named again.)
var soakSwept = []string{
	"file results.db-journal", // the store's own, for a write that was cut short
	"file work/whichfs-agent-N/",
	"file cache/data/.directory.tar.new", // replaced
	"file cache/data/directory.tar",
	"partition loopNp1",
	"record of a partition",
}

// notSwept are the leftovers that the next start does not remove.
func notSwept(more []string) []string {
	return slices.DeleteFunc(slices.Clone(more), func(name string) bool { return slices.Contains(soakSwept, name) })
}

// noteSwept counts the leftovers of a kill.
func (c *soakCase) noteSwept(more []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range more {
		c.swept[name]++
	}
}

// more lists leftovers that were not there after the undisturbed run and that
// do not disappear by themselves. File names are without the parts that differ
// between runs.
func (c *soakCase) more() (found []string, err error) {
	l, err := c.look()
	if err != nil {
		return nil, err
	}
	for _, k := range l.Kept {
		found = append(found, equalised(k, c.dir))
	}
	if c.device != "" {
		for path := range records() {
			text, _ := os.ReadFile(path)
			if !c.records[path] && strings.Contains(string(text), strconv.Quote(filepath.Base(c.device))) {
				found = append(found, "record of a partition")
			}
		}
	}
	names, err := c.files()
	for _, name := range names {
		if !c.ref.files[name] {
			found = append(found, "file "+name)
		}
	}
	return found, err
}

// records are the files that record partitions that exist only in the kernel.
func records() map[string]bool {
	paths, _ := filepath.Glob("/run/whichfs/whichfs-partition-*")
	all := map[string]bool{}
	for _, p := range paths {
		all[p] = true
	}
	return all
}

var numbers = regexp.MustCompile(`(-\d+)+`)

// files are the names of all files of the case, without the parts that differ
// between runs.
func (c *soakCase) files() ([]string, error) {
	names, err := filesBelow(c.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, "out") && !strings.Contains(name, "/") || strings.HasPrefix(name, "err") {
			continue // the test's own
		}
		out = append(out, numbers.ReplaceAllString(equalised(name, c.dir), "-N"))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// story is what a case did, and whichfs's last output.
func (c *soakCase) story() string {
	return strings.Join(c.log, "\n") + "\n" + c.said()
}

// tidy removes the leftovers of a violation, and all files.
func (c *soakCase) tidy() error {
	if c.program == nil {
		return nil
	}
	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(5 * time.Millisecond) {
		l, err := c.look()
		if err != nil {
			return err
		}
		for _, p := range l.Processes {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if len(l.Held) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot tidy up: %s", strings.Join(l.Held, "; "))
		}
	}
	if c.cmd != nil {
		<-c.ended
	}
	if c.device != "" {
		_, _ = command.Run(context.Background(), command.Options{}, "partx", "--delete", c.device) // says so if there is none
		if err := errors.Join(c.open.Close(), os.Remove(c.dir+".image")); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.dir)
}

func firstDifference(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("number %d is not %q", i+1, want[i])
		}
	}
	return "there is more at the end"
}
