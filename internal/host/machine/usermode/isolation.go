package usermode

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The ways in which a guest's kernel gets its programs' system calls, which would be the host's otherwise.
// The kernel chooses the first that the host allows.
const (
	bySeccomp = "seccomp"
	byPtrace  = "ptrace"
)

var aboutIsolation = map[string]string{
	bySeccomp: "its programs run under seccomp",
	byPtrace:  "its programs are traced by ptrace: guests take longer than under seccomp, which this host or series of kernels does not allow",
}

// isolation is the way of a running guest, by what the host says of the processes that its kernel runs.
func (g *guest) isolation() (string, error) {
	all, err := processes(g.process.Pid())
	if err != nil {
		return "", err
	}
	for _, pid := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended
		}
		filtered, traced := false, false
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			filtered = filtered || name == "Seccomp" && value == "2"
			traced = traced || name == "TracerPid" && value != "0"
		}
		switch {
		case traced:
			return byPtrace, nil
		case filtered:
			return bySeccomp, nil
		}
		return "", fmt.Errorf("process %d of the guest is neither filtered nor traced: its system calls are this host's", pid)
	}
	return "", fmt.Errorf("the guest has no processes")
}

// processes are those that a guest's kernel runs.
func processes(kernel int) (all []int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", kernel, kernel))
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
