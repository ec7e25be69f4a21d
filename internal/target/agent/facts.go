package agent

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/sys/build"
	"whichfs/internal/sys/hardware"
	"whichfs/internal/wire"
)

// facts describes the machine.
func (a *Agent) facts() wire.Facts {
	// As many bytes for every version: where the kernel charges work to the clock, sending them is work.
	version := fmt.Sprintf("%-*s", build.AgentVersionLength, a.o.Version)
	f := wire.Facts{Version: version, Arch: runtime.GOARCH, Processors: runtime.NumCPU(), Root: os.Geteuid() == 0}
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		f.Kernel = unix.ByteSliceToString(uname.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		f.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) == nil {
		f.Uptime = time.Duration(up.Nano()).Seconds()
	}
	add := func(name, value string, matters bool) {
		if value = strings.TrimSpace(value); value != "" {
			f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: name, Value: value, Matters: matters})
		}
	}
	add("kernel", f.Kernel, true)
	add("kernel build", unix.ByteSliceToString(uname.Version[:]), false)
	add("architecture", f.Arch, true)
	add("processor", hardware.Processor(), true)
	add("processors", strconv.Itoa(f.Processors), true)
	add("memory", strconv.FormatInt(f.Memory>>20, 10)+" MiB", true)
	add("frequency governor", readText("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), false)
	add("kernel command line", readText("/proc/cmdline"), false)
	return f
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
