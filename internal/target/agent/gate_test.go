package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// When a device was exchanged between two trials, the new one is neither written to nor, at the
// end, emptied.
func TestExchangedDeviceIsLeftAlone(t *testing.T) {
	needs.Devices(t)
	path, _ := image(t, t.TempDir())
	foreign, file := image(t, t.TempDir())
	link := filepath.Join(t.TempDir(), "disk")
	node(t, link, path)
	a := &Agent{conn: wire.New(strings.NewReader(""), io.Discard, nil)}
	spec, err := media.Parse(link)
	must.Do(t, err)
	a.claim, err = storage.Open(context.Background(), spec, ownID(t, path), storage.Options{})
	must.Do(t, err)
	a.used = true // by a trial before
	before := contents(t, file)
	node(t, link, foreign)
	done := a.trial(context.Background(), 1, wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "discard"}}})
	if done.Outcome != result.LabFailed || !strings.Contains(done.Reason, "no longer the device that was claimed") {
		t.Errorf("%+v", done)
	}
	a.release()
	unix.Sync()
	if contents(t, file) != before {
		t.Error("the other device was written to")
	}
}

// node makes a separate node for a device, replacing the one at link.
func node(t *testing.T, link, device string) {
	t.Helper()
	var st unix.Stat_t
	must.Do(t, unix.Stat(device, &st))
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	must.Do(t, unix.Mknod(link, unix.S_IFBLK|0o600, int(st.Rdev)))
}
