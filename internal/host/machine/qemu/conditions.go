package qemu

import (
	"strconv"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
)

// conditions describe the machine in a report.
func (h *host) conditions(p planned) []result.Condition {
	accel := "KVM"
	if !p.config.kvm {
		accel = "TCG: the processor is emulated (KVM: " + h.noKVM + ")"
	}
	if p.config.counts {
		accel = "TCG: the processor is emulated, so that its instructions can be counted"
	}
	if p.config.paced != 0 {
		accel = "TCG: the processor is emulated, at a speed that the emulator keeps in real time"
	}
	sandboxed := "on"
	if h.noSandbox != "" {
		sandboxed = "none: " + h.noSandbox
	}
	c := func(name, value string, matters bool) result.Condition {
		return result.Condition{Group: "machine", Name: name, Value: value, Matters: matters}
	}
	out := []result.Condition{
		c("emulated", yes(!p.config.kvm), true),
		c("accelerator", accel, false),
		c("QEMU", h.version+", "+platforms[p.config.arch].title, true),
		c("QEMU sandbox", sandboxed, false),
		c("guest memory", strconv.FormatInt(p.config.memory>>20, 10)+" MiB", true),
		c("lab image", h.image.Manifest.Digest+", "+h.image.Manifest.Suite, true),
	}
	if h.made != nil {
		out = append(out, c("kernel's source", h.made.Source, false), c("kernel's compiler", h.made.Compiler, true))
	}
	if p.config.eager {
		out = append(out, c("busy waiting", "the kernel's loop for short delays runs without the hint \"pause\", at which the emulator would stop; delays are as long as with it", false))
	}
	return out
}

// conditions describe the storage in a report.
func (p planned) conditions() []result.Condition {
	if p.spec.InMemory() {
		return nil // the agent describes the storage that it made
	}
	if p.config.sim != nil {
		timing := "each request takes the model's time, plus the path from the guest to the model"
		if !p.config.kvm {
			timing += "; under emulation that path is long, so that fast models are slower here than the devices that they represent"
		}
		return labguest.Model(p.config.sim.model, timing)
	}
	kind, limits := "virtio disk, shown as not rotational", p.limits.String()
	if p.config.disks[len(p.config.disks)-1].card {
		kind = "SD card behind an SDHCI controller"
		limits += "; a request is one block of 512 bytes, and the emulated controller sets the pace"
	}
	c := func(name, value string, matters bool) result.Condition {
		return result.Condition{Group: "storage", Name: name, Value: value, Matters: matters}
	}
	return []result.Condition{
		c("lab storage", kind+", a sparse file on the host", true),
		c("limits", limits, true),
		c("flushes", "cost nothing: the host does not wait for its own storage", true),
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
