package storage

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/wire"
)

// Listed is a device with the reasons for and against using it.
type Listed struct {
	Device
	ID       string // for --destroy
	Rotation string // Device.Rotation without the reason
	// Found lists reasons against writing to it: its users and its contents.
	Found []string
	// Usable: --storage accepts it, together with Type if that is not empty.
	Usable bool
	Type   string // "--destroy ID" where it holds something
	Why    string // why it is not usable
}

// Verdict says in a few words whether the device can be used.
func (l Listed) Verdict() string {
	switch {
	case !l.Usable:
		return "no: " + l.Why
	case l.Type != "":
		return "with " + l.Type + ": " + strings.Join(l.Found, "; ")
	}
	return "yes"
}

// Devices lists the devices as a user reads them.
func Devices(ctx context.Context, r Roots) ([]wire.Device, error) {
	found, err := List(ctx, r)
	out := []wire.Device{}
	for _, l := range found {
		out = append(out, wire.Device{Path: l.Path, Size: l.Size, Kind: l.Rotation, ID: l.ID, Usable: l.Verdict(), Takes: l.Usable})
	}
	return out, err
}

// standIn matches device nodes that exist without storage behind them.
var standIn = regexp.MustCompile(`^(loop|ram|zram|nbd|fd|sr)[0-9]+$`)

// List lists the block devices and partitions that have a medium, and raw flash, with the guard's
// verdict on each. A device whose contents cannot be read is not usable; for an ordinary user that
// is most of them.
func List(ctx context.Context, r Roots) ([]Listed, error) {
	r = r.filled()
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, name := range names {
		d, err := r.byName(name)
		if errors.Is(err, errNoDevice) {
			continue // it has disappeared
		}
		if err != nil {
			all = append(all, Listed{Device: Device{Name: name}, Why: err.Error()})
			continue
		}
		if d.Size == 0 && standIn.MatchString(name) {
			continue
		}
		all = append(all, r.list(ctx, d))
	}
	flash, err := r.mtds()
	if err != nil {
		return nil, err
	}
	for _, m := range flash {
		all = append(all, r.listMTD(ctx, m, openFlash))
	}
	return all, nil
}

// Cards lists the disks with a medium that a user can plug in, cards in a slot or a reader and sticks, if nothing
// uses them. It opens nothing.
func Cards(r Roots) ([]wire.Device, error) {
	r = r.filled()
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	var out []wire.Device
	for _, name := range names {
		d, err := r.byName(name)
		if err != nil || d.Size == 0 || d.Partition != 0 || standIn.MatchString(name) {
			continue // or it has disappeared
		}
		if card := d.Transport == "mmc" && read(d.disk, "device/type") == "SD"; !card && !d.Removable {
			continue
		}
		_ = r.relate(&d) // held reports the error
		if users, err := r.held(d); err == nil && len(users) == 0 {
			out = append(out, wire.Device{Path: d.Path, Size: d.Size})
		}
	}
	return out, nil
}

// listMTD lists raw flash under the name that --storage accepts.
func (r Roots) listMTD(ctx context.Context, m MTD, open func(string) (flash, *finding)) Listed {
	named := media.KindMTD + ":" + m.Path
	l := Listed{Device: Device{Name: m.Name, Path: named, Size: m.Size, Major: m.Major, Minor: m.Minor},
		ID: m.IDs()[0], Rotation: m.Kind()}
	l.judge(r.guardMTD(ctx, named, "", m, open))
	return l
}

func (r Roots) list(ctx context.Context, d Device) Listed {
	_ = r.relate(&d) // guard reports the error
	l := Listed{Device: d, ID: d.IDs()[0]}
	l.Rotation, _, _ = strings.Cut(d.Rotation(), ":")
	if d.Size == 0 {
		l.Why = "it has no medium"
		return l
	}
	_, _, err := r.guard(ctx, d.Path, "")
	l.judge(err)
	return l
}

// judge fills in the guard's verdict.
func (l *Listed) judge(err error) {
	var refusal *Refusal
	switch {
	case err == nil:
		l.Usable = true
	case errors.As(err, &refusal):
		l.Found, l.Type = refusal.Found, refusal.Type
		if refusal.id != "" {
			l.ID = refusal.id // with the fingerprint, if one is needed
		}
		l.Usable = refusal.Type != ""
		if !l.Usable {
			l.Why = strings.Join(append(append([]string{}, refusal.Found...), nonEmpty(refusal.Hint)...), "; ")
		}
	default:
		l.Why = err.Error()
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
