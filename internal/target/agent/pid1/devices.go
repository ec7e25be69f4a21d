package pid1

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/target/kmod"
	"whichfs/internal/target/workload"
)

// insertAll inserts the modules of a directory in the order of their names, NUMBER-MODULE.ko, and
// returns the cost of each, and those that the kernel rejected because they are for another
// processor.
func insertAll(dir string) (cost map[string]workload.AtStart, refused []string, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, nil, err
	}
	cost = map[string]workload.AtStart{}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		begun := time.Now()
		err = kmod.Insert(f, "")
		took := time.Since(begun)
		_ = f.Close()
		if errors.Is(err, unix.ENODEV) {
			refused = append(refused, moduleName(e.Name()))
			continue
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, nil, fmt.Errorf("insert module %s: %w", e.Name(), err)
		}
		cost[moduleName(e.Name())] = workload.AtStart{Seconds: took.Seconds(), Size: info.Size()}
	}
	return cost, refused, nil
}

// moduleName is the kernel's name of the module in NUMBER-MODULE.ko.
func moduleName(file string) string {
	if _, rest, ok := strings.Cut(file, "-"); ok {
		file = rest
	}
	name, _, _ := strings.Cut(file, ".")
	return strings.ReplaceAll(name, "-", "_")
}

// await polls until found returns something. Devices appear shortly after their drivers.
func await(what string, found func() (string, error)) (string, error) {
	deadline := time.Now().Add(patience)
	for {
		name, err := found()
		if err != nil || name != "" {
			return name, err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s did not appear within %v", what, patience)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// diskBySerial waits for the virtio disk with a serial number and returns its
// device node.
func diskBySerial(serial string) (string, error) {
	name, err := await("the disk with serial number "+serial, func() (string, error) { return serialNow(serial) })
	return "/dev/" + name, err
}

// serialNow returns the kernel name of the disk, "" if there is none.
func serialNow(serial string) (string, error) {
	return fileWith("/sys/block/*/serial", serial)
}

// openPort waits for a virtio-serial port and opens it.
func openPort(name string) (*os.File, error) {
	port, err := await("the port "+name, func() (string, error) {
		return fileWith("/sys/class/virtio-ports/*/name", name)
	})
	if err != nil {
		return nil, err
	}
	return os.OpenFile("/dev/"+port, os.O_RDWR, 0)
}

// fileWith searches for a file with this content among those that match pattern and returns the
// name of its directory.
func fileWith(pattern, content string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(text)) == content {
			return filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", nil
}
