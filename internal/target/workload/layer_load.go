package workload

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// LayerLoad loads the modules between the filesystem and the chip, as ModuleLoad does: UBI, the
// block device of the MTD device, or both. With fastmap, UBI is told to keep one.
var LayerLoad = Kind{Name: "layer-load", Setup: setupLayerLoad}

// The parameter of module ubi that enables its fastmap, on kernels that support it.
const fastmapParameter = "fm_autoconvert"

func setupLayerLoad(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if !env.Raw {
		return absentModule("no layer is between the filesystem and a block device"), nil
	}
	names := env.layerModules()
	if len(names) == 0 {
		return absentModule(env.FS.Title + " works on the chip itself"), nil
	}
	parameters := ""
	if env.Way.Fastmap() {
		parameters = fastmapParameter + "=1"
	}
	if env.Way == filesystem.WayGluebi && env.lacksGluebi() {
		return Job{}, noGluebi()
	}
	var loadable []string
	own, why := "", ""
	for _, name := range names {
		cannot, err := env.cannotLoad(name)
		if err != nil {
			return Job{}, err
		}
		if cannot != "" {
			why = cannot
			continue
		}
		own, loadable = name, append(loadable, name)
	}
	if own == "" {
		if parameters != "" {
			if err := env.fastmapOn(); err != nil {
				return Job{}, err
			}
		}
		return absentModule(why), nil
	}
	files := env.Modules.files(loadable)
	if parameters != "" && env.lacksFastmap(files[len(files)-1]) {
		return Job{}, noFastmap()
	}
	job, err := env.load(own, files, parameters)
	if err != nil || parameters == "" {
		return job, err
	}
	after := job.After
	job.After = func() (Extra, error) {
		x, err := after()
		if err != nil {
			return x, err
		}
		return x, env.fastmapOn()
	}
	return job, nil
}

// gluebiModule makes an MTD device of each UBI volume. It needs that of UBI.
const gluebiModule = "gluebi"

// layerModules are the modules of the layers below the filesystem, lowest first; nil: no layer.
func (env *Env) layerModules() (names []string) {
	switch {
	case env.Way == filesystem.WayGluebi:
		names = append(names, gluebiModule)
	case env.Way.UBI():
		return append(names, "ubi")
	case !env.Way.MTDBlock():
		return nil
	}
	// The read-only module is smaller; not every kernel has it.
	if env.Modules != nil {
		if file, builtin := env.Modules.Has("mtdblock_ro"); file || builtin {
			return append(names, "mtdblock_ro")
		}
	}
	return append(names, "mtdblock")
}

// lacksGluebi reports whether the kernel's module tree shows that it has none.
func (env *Env) lacksGluebi() bool {
	if env.Modules == nil || len(env.Modules.deps) == 0 {
		return false
	}
	file, builtin := env.Modules.Has(gluebiModule)
	loaded, err := LoadedModules()
	_, there := loaded[gluebiModule]
	return err == nil && !file && !builtin && !there
}

func noGluebi() error {
	return result.Fail(result.Unsupported, "the kernel of the virtual lab has it: --clock virtual",
		"this kernel has no driver %s, which makes an MTD device of a UBI volume; Debian's have none", gluebiModule)
}

// lacksFastmap reports whether a module's file shows that its UBI was built without fastmap. A
// compressed file shows nothing; the parameters of the loaded module do.
func (env *Env) lacksFastmap(file string) bool {
	if !strings.HasSuffix(file, ".ko") {
		return false
	}
	body, err := os.ReadFile(filepath.Join(env.Modules.Dir, file))
	return err == nil && !bytes.Contains(body, []byte("parm="+fastmapParameter+":"))
}

// fastmapOn reports whether the loaded UBI keeps a fastmap, as an error if not.
func (env *Env) fastmapOn() error {
	text, err := os.ReadFile("/sys/module/ubi/parameters/" + fastmapParameter)
	switch {
	case err != nil:
		return noFastmap()
	case !strings.HasPrefix(string(text), "Y") && !strings.HasPrefix(string(text), "1"):
		return result.Refuse("start the machine with ubi."+fastmapParameter+"=1, or unload UBI",
			"UBI was loaded earlier, without a fastmap")
	}
	return nil
}

func noFastmap() error {
	return result.Fail(result.Unsupported, "a kernel built with CONFIG_MTD_UBI_FASTMAP would; Debian's are not",
		"this kernel's UBI keeps no fastmap: it has no parameter %s", fastmapParameter)
}
