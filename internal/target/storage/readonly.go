package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// inUseFlag allows reading a device that is in use.
const inUseFlag = "--in-use"

// errReading is the error of every write to a claim for reading only.
var errReading = errors.New("it was claimed for reading only")

// openReading claims a device for reading only: what it holds does not matter, and nothing of it
// changes. A device in use would be measured together with the other I/O on it, so it is refused
// without Options.InUse. The run's lock is taken as usual: a run and a probe disturb each other.
func (c *Claim) openReading(ctx context.Context, path string) error {
	err := c.findReading(ctx, path)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		refusal.Device, refusal.Reading = c.named, true
	}
	return err
}

func (c *Claim) findReading(ctx context.Context, path string) error {
	var err error
	if c.device, err = c.o.Roots.find(path); err != nil {
		return err
	}
	if c.path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := c.hold(ctx); err != nil {
		return err
	}
	users, err := c.users(c.device)
	if err != nil || len(users.Found) == 0 {
		return err
	}
	if !c.o.InUse {
		return users
	}
	c.usedBy = users.Found
	return nil
}

// users lists what uses a device that is to be read, as a refusal; no Found means no users. That
// the device is read-only is not a use of it.
func (c *Claim) users(d Device) (*Refusal, error) {
	r := c.o.Roots
	found, err := r.held(d)
	if err != nil {
		return nil, fmt.Errorf("cannot tell whether %s is in use: %w", c.named, err)
	}
	all := &Refusal{Device: c.named, Reading: true, Type: inUseFlag}
	for _, f := range found {
		if f.text == readOnlyDevice {
			continue
		}
		all.Found = append(all.Found, f.text)
		if all.Hint == "" {
			all.Hint = f.hint
		}
	}
	if len(all.Found) > 0 {
		return all, nil
	}
	f, err := exclusive(c.path)
	if err == nil {
		err = f.Close()
	}
	for _, twin := range d.twins {
		if err == nil {
			err = r.untouched(twin)
		}
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		all.Found, all.Hint = refusal.Found, refusal.Hint
		return all, nil
	}
	return all, err
}

// recheckReading refuses a device that something has started to use since it was claimed.
func (c *Claim) recheckReading() error {
	if c.o.InUse {
		return nil
	}
	users, err := c.users(c.device)
	if err != nil || len(users.Found) == 0 {
		return err
	}
	return users
}

// ReadOnly reports whether the storage was claimed for reading only.
func (c *Claim) ReadOnly() bool { return c.readOnly }

// Users lists what used the device when it was claimed for reading despite that, one sentence each.
func (c *Claim) Users() []string { return c.usedBy }
