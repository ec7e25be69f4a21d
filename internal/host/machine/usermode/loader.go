package usermode

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/erofs/go-erofs"

	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/sys/command"
)

// The kernel is linked with Debian's C library. A host that has another one (musl), an older one or none runs it with
// that of the lab's image: its loader and the library are then files that the process inherits, as it does the kernel.
// Where anything of the kernel lies in memory is as elsewhere.
const (
	loaderFile  = "lib64/ld-linux-x86-64.so.2"      // in the image
	libraryFile = "lib/x86_64-linux-gnu/libc.so.6"  // there, too
	inherited   = "/proc/self/fd/5"                 // the loader
	preloaded   = "LD_PRELOAD=/proc/self/fd/6"      // the library
	loaderPath  = "/lib64/ld-linux-x86-64.so.2\x00" // what the kernel asks for
)

// carried is a kernel with a loader and a library that are not the host's.
type carried struct{ program, loader, library []byte }

// carry prepares the kernel for hosts that cannot run it; nil: this one can.
func (h *host) carry(ctx context.Context) (*carried, error) {
	_, err := command.Run(ctx, command.Options{}, h.kernel.Program, "--version")
	if err == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c, failed := h.fromImage()
	if failed != nil {
		return nil, fmt.Errorf("this host cannot run the kernel (%w), nor with the C library of the lab's image: %w", err, failed)
	}
	return c, nil
}

// fromImage is the kernel with the C library of the lab's image.
func (h *host) fromImage() (*carried, error) {
	f, err := os.Open(h.image.Root)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	root, err := erofs.Open(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.image.Root, err)
	}
	var c carried
	if c.loader, err = fs.ReadFile(root, loaderFile); err != nil {
		return nil, err
	}
	if c.library, err = fs.ReadFile(root, libraryFile); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(h.kernel.Program)
	if err != nil {
		return nil, err
	}
	c.program, err = withLoader(text)
	return &c, err
}

// withLoader is a program whose loader is inherited.
func withLoader(program []byte) ([]byte, error) {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		end := p.Off + p.Filesz
		if end > uint64(len(program)) || string(program[p.Off:end]) != loaderPath {
			break
		}
		changed := bytes.Clone(program)
		clear(changed[p.Off:end])
		copy(changed[p.Off:end], inherited)
		return changed, nil
	}
	return nil, errors.New("the kernel is not linked as it was built: its loader is not /lib64/ld-linux-x86-64.so.2")
}

// kernelFiles are the files of a guest's process from number 4 on, and what its environment has besides. The caller
// closes them.
func (h *host) kernelFiles() (files []*os.File, env []string, err error) {
	if h.carried == nil {
		f, err := os.Open(h.kernel.Program)
		return []*os.File{f}, nil, err
	}
	for _, content := range [][]byte{h.carried.program, h.carried.loader, h.carried.library} {
		f, err := labguest.InMemory("kernel", content)
		if err != nil {
			closeAll(files)
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, []string{preloaded}, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // read only, or in memory
	}
}
