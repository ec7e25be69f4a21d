package board

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// booted are the times of one boot, in seconds from the boot loader's last words.
type booted struct {
	init, login float64
	kernel      string // its version, if it said so
}

// booting is the session of a board whose file says how it boots from its storage.
type booting struct{ *session }

// Boot implements machine.Booter: the board is switched off and on, and its boot loader is stopped and told
// to start a kernel whose root is the filesystem under test. What appears on the console is timed: the boot
// loader's last words, the first thing that init does, and the login prompt.
func (s booting) Boot(ctx context.Context, b machine.Boot, events machine.Events) (wire.Done, error) {
	on, err := media.Parse(s.spec.Storage)
	if err != nil {
		return wire.Done{}, result.Refuse("", "%v", err)
	}
	c, done := labguest.Bootable(b, on)
	m := s.machine
	switch {
	case done.Outcome != "":
		return done, nil
	case on.Kind != media.KindDevice:
		return wire.Done{Outcome: result.Unsupported, Reason: fmt.Sprintf("no kernel finds a root filesystem on %s", on)}, nil
	case ctx.Err() != nil:
		return wire.Done{}, machine.Canceled(ctx)
	case !m.console.serial():
		return wire.Done{Outcome: result.Unsupported, Reason: fmt.Sprintf("no serial console of machine %s is known, on which its boot loader could be told what to boot", m.Name())}, nil
	case m.power == nil:
		return wire.Done{Outcome: result.Unsupported, Reason: fmt.Sprintf("nothing switches the power of machine %s", m.Name())}, nil
	}
	kernels := slices.SortedFunc(maps.Keys(m.file.Loader.Kernels), lab.CompareVersions)
	if len(kernels) == 0 {
		kernels = []string{lab.Offer{Release: s.Client.Facts().Kernel}.Series()}
	}
	phase, all := "", make([][]booted, len(kernels))
	for n := range b.Repeats * len(kernels) {
		i := n % len(kernels) // in turn, so that a change on the board affects all of them alike
		phase = labguest.LoginPhase + kernels[i]
		if events.Phase != nil {
			events.Phase(phase)
		}
		var one booted
		if one, err = s.bootOnce(ctx, m.file.Loader.from(on.Path, c, kernels[i])); err == nil {
			err = one.check(m.file.Loader, kernels[i])
		}
		if err != nil {
			break
		}
		all[i] = append(all[i], one)
	}
	if ctx.Err() != nil {
		return wire.Done{}, machine.Canceled(ctx)
	}
	if back := s.usual(ctx); back != nil {
		return wire.Done{}, back
	}
	if failure, ok := errors.AsType[*result.Failure](err); ok && failure.Outcome != result.LabFailed {
		return wire.Done{Outcome: failure.Outcome, Phase: phase, Reason: failure.Reason, Hint: failure.Hint}, nil
	}
	if err != nil {
		return wire.Done{}, err
	}
	for i, kernel := range kernels {
		if events.Figures != nil {
			events.Figures(bootFigures(labguest.LoginPhase+kernel, m.file.Loader, all[i]))
		}
	}
	return wire.Done{Outcome: result.Done}, nil
}

// usual has the board start its own system again.
func (s *session) usual(ctx context.Context) error {
	if err := s.machine.off(ctx); err != nil {
		return err
	}
	if err := s.machine.restore(ctx); err != nil {
		return err
	}
	return s.replace(ctx, s.spec, s.machine.untilUp)
}

// bootOnce ends the session and boots from its storage. The board is left on.
func (s *session) bootOnce(ctx context.Context, commands []string) (b booted, err error) {
	m := s.machine
	if err := m.off(ctx); err != nil {
		return b, err
	}
	// An agent that ends in order would leave the storage empty.
	s.abandon()
	if _, ok := s.line.transport.(*ssh); ok && s.line.master != nil {
		_ = s.line.master.Kill() // which would wait for an answer
	}
	_ = s.Client.Close() // its errors follow from the loss of power
	p, err := openPort(ctx, m.console)
	if err != nil {
		return b, errors.Join(err, m.restore(context.WithoutCancel(ctx)))
	}
	c := &console{port: p, place: m.console, words: &machine.Lines{}, progress: m.o.Progress, entry: &m.entry}
	defer func() {
		c.keep()
		err = errors.Join(err, p.close())
	}()
	if err = m.restore(ctx); err == nil {
		err = c.intoLoader(ctx, m.power.Start)
	}
	if err == nil {
		err = c.load(ctx, commands)
	}
	if err == nil {
		b, err = c.boots(ctx, m.power.Start)
	}
	return b, err
}

// check refuses a kernel that is another one than the board's file says. One that says nothing is believed.
func (b booted) check(l Loader, kernel string) error {
	rest, same := strings.CutPrefix(b.kernel, kernel)
	if b.kernel == "" || l.Kernels[kernel] == "" || same && (rest == "" || rest[0] < '0' || rest[0] > '9') {
		return nil
	}
	return result.Refuse("kernels in the section boot_loader of the board's file are by version", "what the board's file calls kernel %s says that it is %s", kernel, b.kernel)
}

// from are the commands that boot a kernel from a filesystem.
func (l Loader) from(device string, c filesystem.Candidate, kernel string) []string {
	options := strings.Join(filesystem.MountData(c), ",")
	flags := ""
	if options != "" {
		flags = " rootflags=" + options
	}
	// Read-only, as kernels mount a root at first: so no boot leaves anything for the next one to repair.
	root := fmt.Sprintf("root=%s rootfstype=%s%s ro rootwait init=/%s -- init", device, c.FS, flags, workload.Userspace)
	fill := strings.NewReplacer("{root}", root, "{storage}", device, "{filesystem}", c.FS, "{options}", options, "{kernel}", l.Kernels[kernel])
	var out []string
	for _, line := range l.BootFrom {
		out = append(out, fill.Replace(line))
	}
	return out
}

// intoLoader stops a boot loader that counts down.
func (c *console) intoLoader(ctx context.Context, within time.Duration) error {
	stop := c.entry.loader.Stop
	counts := func(text string) bool {
		return countdown.MatchString(text) || stop != "" && strings.Contains(text, stop)
	}
	for pressed := false; ; pressed = true {
		found, err := c.await(ctx, within, func(text string) bool {
			text = plainText(text)
			return c.inLoader(text) || !pressed && counts(text)
		})
		text, _ := c.so()
		switch {
		case err != nil:
			return c.lost(err)
		case !found:
			return c.failure(result.LabFailed, "stop in the section boot_loader of the board's file is what it says before it waits for a key, and prompt what it says before it waits for a command",
				"the boot loader of machine %s did not stop within %v; the console says: %s", c.place.Name, within, last(strings.Split(plainText(text), "\n")))
		case c.inLoader(plainText(text)):
			return nil
		}
		if err := c.typed(" "); err != nil {
			return err
		}
	}
}

var (
	// initBegins is the first thing that init does (workload.BootRoot).
	initBegins = regexp.MustCompile(`(?:^|\n)init\r*\n`)
	version    = regexp.MustCompile(`Linux version (\S+)`)
)

// unmountable is part of a kernel's panic that finds no root filesystem.
const unmountable = "Unable to mount root fs"

// boots times what a boot loader has started.
func (c *console) boots(ctx context.Context, within time.Duration) (b booted, err error) {
	var begun time.Time
	steps := []struct {
		name string
		seen func(text string) bool
		at   *float64
	}{
		{"the boot loader's hand-over (hand_over in the section boot_loader)", func(text string) bool { return strings.Contains(text, c.entry.loader.HandOver) }, nil},
		{"the start of init", initBegins.MatchString, &b.init},
		{"the login prompt", func(text string) bool { return strings.HasSuffix(strings.TrimRight(text, " "), " login:") }, &b.login},
	}
	for _, step := range steps {
		panicked, stopped := "", false
		found, err := c.await(ctx, within, func(text string) bool {
			if step.seen(text) {
				return true
			}
			if strings.Contains(text, "Kernel panic") {
				panicked = labguest.PanicLine(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"))
			}
			stopped = step.at == nil && strings.Count(text, "\n") > 1 && c.inLoader(text)
			return panicked != "" || stopped
		})
		now := time.Now()
		text, _ := c.so()
		switch {
		case err != nil:
			return b, c.lost(err)
		case strings.Contains(panicked, unmountable):
			return b, result.Fail(result.Unsupported, "the kernel needs the drivers of storage and filesystem built in, or an initramfs with them", "the kernel that the boot loader started cannot mount it: %s", panicked)
		case panicked != "":
			return b, workload.Subject("the board did not boot from it: %s", panicked)
		case stopped:
			return b, c.failure(result.LabFailed, "try the commands of boot_from by hand: "+c.place.typed(), "the boot loader of machine %s started nothing: %s", c.place.Name, labguest.Quoted(strings.Split(plainText(text), "\n")))
		case !found:
			return b, c.failure(result.LabFailed, "by hand: "+c.place.typed(), "machine %s did not show %s within %v; the console's last lines: %s", c.place.Name, step.name, within, labguest.Quoted(strings.Split(plainText(text), "\n")))
		case step.at == nil:
			begun = now
		default:
			*step.at = now.Sub(begun).Seconds()
		}
		if m := version.FindStringSubmatch(text); m != nil {
			b.kernel = m[1]
		}
	}
	return b, nil
}

// bootFigures are geometric means, since times are compared by ratio.
func bootFigures(phase string, l Loader, all []booted) wire.Figures {
	var init, login float64
	least, most := math.Inf(1), 0.0
	kernel := ""
	for _, b := range all {
		init, login = init+math.Log(b.init), login+math.Log(b.login)
		least, most = min(least, b.login), max(most, b.login)
		kernel = b.kernel
	}
	n := float64(len(all))
	once := ""
	if n == 1 {
		once = "it booted once"
	}
	prompt := math.Exp(login / n)
	f := wire.Figures{Phase: phase}
	for _, m := range []result.Measurement{result.Figure(result.Wall, prompt), result.Figure(result.BootInit, math.Exp(init/n)), result.Figure(result.BootLogin, prompt),
		result.FigureOr(result.BootSpread, most/least-1, once), result.Figure(result.BootRepeats, n)} {
		f.Measurements = append(f.Measurements, m.In(phase))
	}
	text := fmt.Sprintf("timed on the console, from %q of the boot loader on, with the kernel's own start", l.HandOver)
	if kernel != "" {
		text += "; kernel " + kernel
	}
	f.Notes = []result.Note{{Phase: phase, Level: result.Info, Text: text}}
	return f
}
