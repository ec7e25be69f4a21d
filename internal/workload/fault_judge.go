package workload

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
)

// checkEvery: of the iterations in which nothing seems to be wrong every so
// manyth is checked by the filesystem's own tool. A process to start is what
// costs most under emulation.
const checkEvery = 5

// judge looks at the disk after a fault and says what became of the filesystem.
// Where anything is wrong its own tool is asked; where that complains, or it does
// not mount, the tool is let to repair, and it is looked at again. number is that
// of the iteration, from 1.
func (b *bed) judge(number int, judge func(root string) found) {
	first := b.look(judge)
	o := first.outcome()
	dirty, clean := "", false
	if first.hung == "" && (o > fault.Recovered || number%checkEvery == 1) {
		dirty, clean = b.check()
	}
	t := &b.tally
	damaged := !first.mounted || dirty != "" || o > fault.Recovered && !clean
	if damaged && first.hung == "" && b.disk != nil {
		if second, done := b.repair(first.mounted, judge); done {
			after := second.outcome()
			t.after[after]++
			if !first.mounted && second.mounted {
				// What it has lost besides is told by the second look.
				if o = fault.NeedsCheck; !after.Kept() {
					o, first.losses = after, second.losses
				}
				first.promises, first.broken = second.promises, second.broken
			}
		}
	}
	t.count(number, o, &first, dirty)
}

// check asks the filesystem's tool and returns what it complains of. It is clean
// only where the tool says so.
func (b *bed) check() (dirty string, clean bool) {
	fs, t := b.env.FS, &b.tally
	if fs.Check == nil {
		t.once(fmt.Sprintf("there is no check without repair: %s", fs.NoCheck))
		return "", false
	}
	argv := fs.Check(b.disk.Path())
	r, missing, ended := b.tool(argv)
	switch said := fs.ReadCheck(r.Status, r.Stdout+r.Stderr); {
	case missing:
		t.once(argv[0] + " is not installed: nothing was checked")
	case b.ctx.Err() != nil:
	case !ended:
		t.dirty++
		return argv[0] + " did not end", false
	case said.Broken:
		t.once(fmt.Sprintf("%s could not check: %s", argv[0], said.Reason))
	case said.Clean:
		t.clean++
		return "", true
	default:
		t.dirty++
		return said.Reason, false
	}
	return "", false
}

// repair lets the filesystem's tool repair, and looks again: once where it mounts,
// and otherwise with one attempt after the other until it does.
func (b *bed) repair(mounts bool, judge func(root string) found) (s sight, done bool) {
	fs, t := b.env.FS, &b.tally
	if fs.Repair == nil {
		t.once(fmt.Sprintf("nothing was repaired: %s", fs.NoRepair))
		return s, false
	}
	for _, argv := range fs.Repair(b.disk.Path()) {
		r, missing, ended := b.tool(argv)
		if missing {
			t.once(argv[0] + " is not installed: nothing was repaired")
			return s, done
		}
		if b.ctx.Err() != nil {
			return s, false
		}
		if !ended || b.disk == nil {
			return sight{hung: argv[0] + " did not end"}, true
		}
		if fs.ReadRepair != nil {
			if said := fs.ReadRepair(r.Status, r.Stdout+r.Stderr); said.Mended == filesystem.MendBroken {
				t.once(fmt.Sprintf("%s could not repair: %s", argv[0], said.Reason))
			}
		}
		s, done = b.look(judge), true
		if mounts || s.mounted || b.disk == nil {
			break
		}
	}
	return s, done
}

// timeShare is after which share of a step's time no more iterations begin: what
// was done is worth more than a step that is given up.
const timeShare = 0.85

// repeat does count iterations, or as many as the step's time allows. Errors are
// of our own machinery, or of a filesystem that nothing had happened to.
func (b *bed) repeat(count int, one func(number int) error) (err error) {
	// The meter has turned the collector off, and much is allocated here.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	defer b.close()
	start := time.Now()
	deadline, limited := b.ctx.Deadline()
	for number := 1; number <= count; number++ {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		if limited && number > 1 && time.Since(start) > time.Duration(timeShare*float64(deadline.Sub(start))) {
			b.tally.once(fmt.Sprintf("%d of %d iterations were done: the step's time was over", number-1, count))
			break
		}
		err := one(number)
		var hung errHung
		if errors.As(err, &hung) {
			b.tally.count(number, fault.Hang, &sight{hung: hung.Error()}, "")
			continue
		}
		if err != nil {
			return fmt.Errorf("iteration %d (seed %d): %w", number, b.tally.seed, err)
		}
	}
	return nil
}
