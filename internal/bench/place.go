package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/local"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/plan/study"
)

// place is a machine for trials, with the data sets of a quick run.
type place struct {
	name    string
	machine machine.Machine
	spec    machine.Spec
	study   study.Study
	scale   study.Scale
}

const quickStudy = "bootlin-2023"

// newPlace returns the lab, or, for root, this kernel if the lab is unavailable.
func newPlace(ctx context.Context, c Config) (*place, error) {
	p, err := newLab(ctx, c)
	if missing := lab.Missing(lab.Native()); missing == nil {
		return p, err
	}
	if os.Geteuid() != 0 {
		return nil, unavailable("%v; on this kernel itself it needs root", lab.Missing(lab.Native()))
	}
	p.name, p.machine = "this machine's kernel", &local.Machine{Agent: agentPath(c)}
	p.spec.Storage = "loop:1G"
	return p, err
}

// newLab returns the lab with the data sets of a quick run.
func newLab(ctx context.Context, c Config) (*place, error) { return labFor(ctx, c, quickStudy) }

// labFor returns the lab with the data sets of a study's quick run.
func labFor(ctx context.Context, c Config, name string) (*place, error) {
	st, ok := study.ByName(name)
	if !ok {
		return nil, fmt.Errorf("there is no study %s", name)
	}
	p := &place{name: "a lab guest", study: st, scale: st.Scales["quick"]}
	p.machine = qemu.New(qemu.Options{Agent: agentPath(c)})
	p.spec = machine.Spec{Storage: st.Storages[0].Specs["quick"]}
	for _, d := range p.scale.Data {
		if d.Set == "" {
			p.spec.Data = append(p.spec.Data, dataset.Stream(d.Name, d.Stream, 1))
			continue
		}
		tree, err := dataset.Get(ctx, d.Set, nil)
		if err != nil {
			return nil, err
		}
		tree.Name = d.Name
		p.spec.Data = append(p.spec.Data, tree)
	}
	return p, nil
}

// agentPath prefers the agent whose size is shown.
func agentPath(c Config) string {
	path := filepath.Join(c.Bin, "whichfs-agent-linux-"+runtime.GOARCH)
	if _, err := os.Stat(path); err != nil {
		return filepath.Join(c.Bin, "whichfs-agent")
	}
	return path
}
