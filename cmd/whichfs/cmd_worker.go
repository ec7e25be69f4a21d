package main

import (
	"fmt"
	"os"
	"strings"

	"whichfs/internal/app"
	"whichfs/internal/result"
)

type workerCmd struct {
	Machine []string `complete:"machine" default:"lab" help:"A machine that it offers, by the name that runs give it: lab, local, or a board's; repeatable." placeholder:"NAME"`
	Label   []string `help:"What runs may ask for: kvm, board=bbb; repeatable." placeholder:"NAME"`
	Name    string   `help:"Its name, in reports and lists (default: this host's)." placeholder:"NAME"`
	Lanes   int      `help:"Trials at a time with the virtual clock and the one of instructions (default: as many as run would do)." placeholder:"N"`
	Destroy []string `help:"As for run: this very device may be overwritten." placeholder:"ID"`
	Risk    bool     `name:"risk-this-kernel" help:"As for run."`
	workFlag
	agentFlag
}

func (c *workerCmd) Run(a *shell) error {
	name := c.Name
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	if strings.ContainsAny(name, "[];: ") || len(name) > 60 {
		return result.Refuse("use letters, digits, dots and hyphens", "--name: %q cannot be the name of a worker", name)
	}
	if c.Lanes < 0 {
		return result.Refuse("", "--lanes must not be negative")
	}
	a.AgentPath = c.AgentPath
	a.note(fmt.Sprintf("worker %s waits for trials on %s", name, strings.Join(c.Machine, ", ")))
	return a.Work(a.ctx, app.Offer{Permission: app.Permission{Destroy: c.Destroy, Risk: c.Risk, Work: c.Work}, Name: name, Machines: c.Machine, Labels: c.Label, Lanes: c.Lanes})
}
