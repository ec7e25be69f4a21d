package agent

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/target/kmod"
	"whichfs/internal/target/workload"
)

// The parameters of nandsim can be set when it is loaded and only be read later, although it reads
// them at every operation. writable changes that in the module's file, in memory: it changes the
// mode of two parameters, and no code. If that does not work, the module is loaded as it is, and
// moving contents takes as long as the chip's delays dictate.

// changeable are the parameters that atOnce turns off temporarily.
var changeable = []string{"do_delays", "bitflips"}

// writable returns a module's file in which the parameters may be written, without a signature.
func writable(file []byte, parameters ...string) ([]byte, error) {
	out, _ := kmod.Unsigned(bytes.Clone(file))
	f, err := elf.NewFile(bytes.NewReader(out))
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	pointer := 8
	if f.Class == elf.ELFCLASS32 {
		pointer = 4
	}
	for _, name := range parameters {
		at := -1
		for _, s := range symbols {
			// struct kernel_param (linux/moduleparam.h): three pointers, then the mode.
			if s.Name == "__param_"+name && int(s.Section) < len(f.Sections) && f.Sections[s.Section].Type == elf.SHT_PROGBITS {
				at = int(f.Sections[s.Section].Offset + s.Value + uint64(3*pointer))
			}
		}
		if at < 0 || at+2 > len(out) {
			return nil, fmt.Errorf("it has no parameter %s", name)
		}
		if mode := f.ByteOrder.Uint16(out[at:]); mode != 0o400 {
			return nil, fmt.Errorf("the mode of its parameter %s is %#o", name, mode)
		}
		f.ByteOrder.PutUint16(out[at:], 0o600)
	}
	return out, nil
}

// insertChip loads nandsim, with writable parameters if possible.
func insertChip(path, parameters string) error {
	if strings.HasSuffix(path, ".ko") {
		if file, err := os.ReadFile(path); err == nil {
			if file, err = writable(file, changeable...); err == nil && unix.InitModule(file, parameters) == nil {
				return nil
			}
		}
	}
	return workload.InsertModule(path, parameters)
}

// atOnce turns the chip's delays and bit flips off while its contents are moved, and returns a
// function that restores them: the lab moves the contents, and a bit flip during a read would end
// up in the new contents.
func (c *simulatedChip) atOnce() (back func() error, err error) {
	was := map[string]string{}
	back = func() error {
		var errs []error
		for name, value := range was {
			errs = append(errs, setParameter(name, value))
		}
		return errors.Join(errs...)
	}
	for _, name := range changeable {
		value, err := os.ReadFile(filepath.Join(chipParameters, name))
		if err != nil {
			return nil, errors.Join(err, back())
		}
		text := strings.TrimSpace(string(value))
		if text == "0" {
			continue
		}
		if err := setParameter(name, "0"); err != nil {
			if name != "bitflips" {
				continue // it merely takes longer
			}
			return nil, errors.Join(fmt.Errorf("bit flips of the simulated chip cannot be turned off: %w", err), back())
		}
		was[name] = text
	}
	return back, nil
}

const chipParameters = "/sys/module/" + nandModule + "/parameters"

// setParameter writes a parameter and verifies the new value.
func setParameter(name, value string) error {
	path := filepath.Join(chipParameters, name)
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(now)) != value {
		err = fmt.Errorf("%s is %s and should be %s", path, strings.TrimSpace(string(now)), value)
	}
	return err
}
