package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/kmod"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// readModules reads what modules the running kernel has.
func readModules() (*workload.Modules, error) {
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return nil, err
	}
	return workload.ReadModules("/", unix.ByteSliceToString(uname.Release[:]))
}

// giveModules takes over the modules that the user gave: they are read whole, checked against this
// kernel, and kept in memory under their kernel names, so that nothing can change them in the
// middle of a run.
func (a *Agent) giveModules(ctx context.Context, given []wire.Module) error {
	if len(given) == 0 {
		return nil
	}
	loaded, err := workload.LoadedModules()
	if err != nil {
		return err
	}
	var like []string
	for _, fs := range filesystem.All {
		like = append(like, fs.Module)
	}
	kernel := a.modules.KernelOf(runtime.GOARCH, like)
	for _, w := range given {
		g, err := a.fetchModule(ctx, w)
		if err != nil {
			return err
		}
		if err := a.modules.Give(g, kernel, loaded); err != nil {
			return err
		}
	}
	return a.modules.Complete(loaded)
}

// fetchModule copies a module to a place from where the kernel can load it.
func (a *Agent) fetchModule(ctx context.Context, w wire.Module) (workload.Given, error) {
	path := w.Path
	if serial, ok := strings.CutPrefix(path, media.KindSerial+":"); ok {
		var err error
		if path, err = storage.BySerial(ctx, serial); err != nil {
			return workload.Given{}, err
		}
	}
	body, err := readStart(path, w.Size)
	if err != nil {
		return workload.Given{}, fmt.Errorf("module %s: %w", w.Name, err)
	}
	f, err := kmod.Read(w.Name, body)
	if err != nil {
		return workload.Given{}, err
	}
	dir := filepath.Join(a.work, "modules")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return workload.Given{}, err
	}
	copied := filepath.Join(dir, f.Name+".ko")
	return workload.Given{File: f, Path: copied}, os.WriteFile(copied, body, 0o600)
}

// readStart reads the first bytes of a file or device.
func readStart(path string, size int64) ([]byte, error) {
	if size <= 0 || size > kmod.MaxSize {
		return nil, fmt.Errorf("%d bytes are not a module", size)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	body := make([]byte, size)
	_, err = io.ReadFull(f, body)
	return body, err
}

// moduleConditions describe the given modules: figures with another file measure something else.
func (a *Agent) moduleConditions() []result.Condition {
	var out []result.Condition
	for _, g := range a.modules.Given() {
		out = append(out, result.Condition{Group: "tools", Name: "module " + g.Name, Value: g.String(), Matters: true})
	}
	return out
}
