package main

import (
	"fmt"
	"os"

	"whichfs/internal/dataset"
	"whichfs/internal/machine"
	"whichfs/internal/machine/fake"
	"whichfs/internal/machine/local"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// machineNamed makes the machine that a user names.
func machineNamed(name string, note func(string)) (machine.Machine, error) {
	switch name {
	case "lab":
		return qemu.New(qemu.Options{Progress: note}), nil
	case "local":
		return local.New(), nil
	case "fake":
		// For tests of the program itself; its figures are invented and every
		// report says so.
		script, err := fake.Read(os.Getenv("WHICHFS_FAKE"))
		if err != nil {
			return nil, result.Refuse("", "%v", err)
		}
		return fake.New(script), nil
	}
	return nil, result.Refuse("", "unknown machine %q; known are lab and local", name)
}

// verifyData makes sure that an archive of an earlier run is still there and
// still the same.
func verifyData(d scenario.Data) error {
	if d.Kind != "tree" {
		return nil
	}
	if _, err := os.Stat(d.Path); err != nil {
		return result.Refuse("begin a new run", "the data set of this run is gone: %v", err)
	}
	if err := dataset.Verify(d); err != nil {
		return result.Refuse("begin a new run", "%v", fmt.Errorf("the data set of this run: %w", err))
	}
	return nil
}
