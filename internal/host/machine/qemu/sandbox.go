package qemu

import (
	"context"
	"strings"
	"sync"
	"time"

	"whichfs/internal/sys/command"
)

// sandbox confines a guest that broke out of its virtual machine to QEMU's process: the kernel
// denies it system calls that QEMU does not need here: starting programs, changing its user,
// setting its own priority, and obsolete ones.
const sandbox = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

// sandboxLimit is how long QEMU may take to report whether it has a sandbox; it needs some 20 ms.
const sandboxLimit = 30 * time.Second

// sandboxes are the answers, by program.
var sandboxes struct {
	sync.Mutex
	without map[string]string
}

// unsandboxed says why a QEMU has no sandbox, "" if it has one. It may have been built without, or
// the kernel may refuse; so a QEMU without a machine is started once, and ended by its first
// command.
func unsandboxed(program string) string {
	sandboxes.Lock()
	defer sandboxes.Unlock()
	if why, known := sandboxes.without[program]; known {
		return why
	}
	ctx, cancel := context.WithTimeout(context.Background(), sandboxLimit)
	defer cancel()
	_, err := command.Run(ctx, command.Options{Stdin: strings.NewReader("quit\n")},
		program, "-sandbox", sandbox, "-nodefaults", "-no-user-config", "-machine", "none", "-display", "none", "-monitor", "stdio")
	why := ""
	if err != nil {
		why = err.Error()
	}
	if sandboxes.without == nil {
		sandboxes.without = map[string]string{}
	}
	sandboxes.without[program] = why
	return why
}
