package aftermath

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/sys/kmsg"
	"whichfs/internal/sys/procfs"
)

// kernelLog collects the kernel's messages about one disk.
type kernelLog struct {
	log kmsg.Log
	own *regexp.Regexp
	// alone: no other disk is in use, so lines that name no device are about this one. Otherwise
	// they are another's, unless they report a fault of the kernel itself that neither another
	// task of a program nor work on another device has caused.
	alone bool
	flush string // "flush-7:1": how the kernel calls writing the disk back
	// others reports whether a task with this PID is a program's, and not the
	// thread that makes the calls for this disk.
	others func(pid string) bool
}

// tasks distinguishes programs' tasks from the kernel's threads. The kernel log has the PIDs of the
// first PID namespace: in another one nothing is known.
type tasks struct {
	proc   string
	caller *caller
}

// others reports whether a task certainly did not work for this disk; a task that is gone and a
// kernel thread may have.
func (t tasks) others(pid string) bool {
	const firstNamespace = "pid:[4026531836]" // PROC_PID_INIT_INO, include/linux/proc_ns.h
	if ns, err := os.Readlink(t.proc + "/self/ns/pid"); err != nil || ns != firstNamespace {
		return false
	}
	if pid == strconv.FormatInt(t.caller.thread.Load(), 10) {
		return false
	}
	stat, err := os.ReadFile(t.proc + "/" + pid + "/stat")
	if err != nil {
		return false
	}
	process, err := procfs.ParseProcess(stat)
	return err == nil && !process.Kernel
}

// faultTask matches the task that caused a warning, as the kernel writes it (kernel/panic.c, before
// and after Linux 6.16).
var faultTask = regexp.MustCompile(`^WARNING: .*(?:\bPID: |CPU#\d+: .*/)(\d+)\b`)

// aboveDisk matches lines about a device above the disk: late messages from when the data was
// written.
var aboveDisk = regexp.MustCompile(`\((device )?dm-\d+`)

// followLog starts at the end of the log.
func followLog(device string, alone bool, c *caller) kernelLog {
	number, _ := os.ReadFile("/sys/class/block/" + device + "/dev") // "7:1"
	return kernelLog{
		log: kmsg.SinceNow(), own: regexp.MustCompile(`\b` + regexp.QuoteMeta(device) + `\b`),
		alone: alone, flush: "flush-" + strings.TrimSpace(string(number)), others: tasks{"/proc", c}.others,
	}
}

// lines returns the new lines about the disk.
func (l kernelLog) lines() []string {
	var out []string
	all := l.log.Lines()
	for i, text := range all {
		if text, ours := l.take(text, all[i+1:]); ours {
			out = append(out, text)
		}
	}
	return out
}

// take returns a line if it is ours, with one name for whatever device it names: which number
// happened to be free is no part of a finding. after are the lines that follow it.
func (l kernelLog) take(text string, after []string) (string, bool) {
	fault, _ := filesystem.KernelFault(text)
	if m := faultTask.FindStringSubmatch(text); fault && !l.alone && m != nil && (l.others(m[1]) || l.elsewhere(after)) {
		return text, false
	}
	ours := fault || l.own.MatchString(text) || l.alone && !aboveDisk.MatchString(text)
	return l.own.ReplaceAllString(text, "disk"), ours
}

// workDevice matches the device in a report's line about a kernel thread:
// "Comm: jbd2/loop4-8", "Workqueue: writeback wb_workfn (flush-7:4)".
var workDevice = regexp.MustCompile(`\bloop\d+|\bdm-\d+|\bflush-\d+:\d+`)

// elsewhere reports whether work on another device caused a warning, judging by the head of its
// report (dump_stack_print_info of lib/dump_stack.c).
func (l kernelLog) elsewhere(report []string) bool {
	const head = 4 // the task, what taints the kernel, the hardware, the workqueue
	other := false
	for _, line := range report[:min(len(report), head)] {
		if !strings.HasPrefix(line, "Workqueue: ") && !strings.HasPrefix(line, "CPU: ") {
			continue
		}
		if l.own.MatchString(line) || strings.Contains(line, l.flush+")") {
			return false
		}
		other = other || workDevice.MatchString(line)
	}
	return other
}

// death is the first line in which the kernel gives up on its current work.
func death(lines []string) string {
	i := slices.IndexFunc(lines, func(line string) bool { _, fatal := filesystem.KernelFault(line); return fatal })
	if i < 0 {
		return ""
	}
	return lines[i]
}
