package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/sys/cache"
	"whichfs/internal/target/agent/pid1"
)

// kvmLimit is how long a guest under KVM may take to give a sign of life; it needs less than a
// second where KVM works.
const kvmLimit = 5 * time.Second

// KVM reports whether guests run under KVM here, and if not, why. Opening the device proves nothing
// (on some nested machines a guest then hangs silently), so a guest is started once; the answer is
// cached until the host reboots.
func KVM(ctx context.Context) (works bool, why string) {
	h := &host{}
	if err := h.find(lab.Native(), Options{}); err != nil {
		return false, "it cannot be tested: " + err.Error()
	}
	return h.kvmWorks(ctx)
}

func (h *host) kvmWorks(ctx context.Context) (bool, string) {
	path := ""
	if dir, err := cache.Dir(); err == nil {
		path = filepath.Join(dir, "kvm.json")
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	q := kvmQuestion{
		device: openKVM,
		probe:  h.probeKVM,
		cache:  path,
		key:    strings.TrimSpace(string(boot)) + " " + h.image.Manifest.Digest,
	}
	return q.answer(ctx)
}

// kvmQuestion is the decision with its dependencies on the host.
type kvmQuestion struct {
	device func() error                    // nil if the device is there and speaks KVM
	probe  func(ctx context.Context) error // nil if a guest ran
	cache  string                          // file with the cached answer; "" for none
	key    string                          // what a cached answer must apply to
}

type kvmAnswer struct {
	Key   string `json:"key"`
	Works bool   `json:"works"`
	Why   string `json:"why"`
}

func (q kvmQuestion) answer(ctx context.Context) (works bool, why string) {
	if err := q.device(); err != nil {
		return false, err.Error()
	}
	var a kvmAnswer
	if text, err := os.ReadFile(q.cache); err == nil && json.Unmarshal(text, &a) == nil && a.Key == q.key {
		return a.Works, a.Why
	}
	a = kvmAnswer{Key: q.key, Works: true}
	if err := q.probe(ctx); err != nil {
		if ctx.Err() != nil {
			return false, "the test was interrupted" // which proves nothing
		}
		a.Works, a.Why = false, err.Error()
	}
	if text, err := json.Marshal(a); err == nil && q.cache != "" {
		// If the answer cannot be cached, the next start finds it again.
		_ = os.WriteFile(q.cache, append(text, '\n'), 0o644)
	}
	return a.Works, a.Why
}

// openKVM asks the device for its version (KVM_GET_API_VERSION), which has been
// 12 since 2007.
func openKVM() error {
	fd, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/kvm: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	version, err := unix.IoctlRetInt(fd, 0xae00)
	if err != nil {
		return fmt.Errorf("/dev/kvm: %w", err)
	}
	if version != 12 {
		return fmt.Errorf("/dev/kvm has version %d", version)
	}
	return nil
}

// probeKVM starts the lab's kernel under KVM and waits for the agent's mark.
func (h *host) probeKVM(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, kvmLimit)
	defer cancel()
	archive, err := labguest.InMemory("archive", h.archive)
	if err != nil {
		return err
	}
	g, err := start(config{
		program: h.program, arch: h.image.Manifest.Arch, kvm: true, memory: 512 << 20, kernel: h.image.Kernel,
		archive: descriptor(0), append: []string{"whichfs.probe"},
	}, false, archive)
	if err != nil {
		return err
	}
	defer g.end() //nolint:errcheck // the guest is no longer needed
	alive := make(chan struct{}, 1)
	c := labguest.Watch(g.console, func(line string) {
		if strings.Contains(line, pid1.ProbeMark) {
			select {
			case alive <- struct{}{}:
			default: // once is enough
			}
		}
	})
	select {
	case <-alive:
		return nil
	case <-c.Ended():
		select {
		case <-alive:
			return nil
		default:
		}
		_ = g.process.Wait(ctx) // the reason says how it ended
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("a guest ended at once: %s", g.reason(c))
	case <-ctx.Done():
		return fmt.Errorf("a guest was started but gave no sign of life within %v", kvmLimit)
	}
}
