// Package kernelmemory reads the running kernel's memory through /proc/kcore
// and finds where a simulated raw chip keeps its pages. It assumes nothing
// about the layout of the kernel's structures; it accepts a location only if
// it contains what was just written to the chip.
package kernelmemory

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is the kernel's memory. The caller closes it.
type Memory struct {
	core    *os.File
	parts   []elf.ProgHeader
	symbols map[string]uint64
}

// Open opens the memory of the kernel whose files are in proc ("/proc"). It
// needs root and a kernel with /proc/kcore and all symbols in /proc/kallsyms.
func Open(proc string) (*Memory, error) {
	text, err := os.ReadFile(proc + "/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("the kernel's symbols: %w", err)
	}
	m := &Memory{symbols: symbols(string(text))}
	if m.core, err = os.Open(proc + "/kcore"); err != nil {
		return nil, fmt.Errorf("the kernel's memory: %w", err)
	}
	file, err := elf.NewFile(m.core)
	if err != nil {
		_ = m.core.Close()
		return nil, fmt.Errorf("the kernel's memory: %w", err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			m.parts = append(m.parts, p.ProgHeader)
		}
	}
	return m, nil
}

// Close closes the memory.
func (m *Memory) Close() error { return m.core.Close() }

// symbols returns the needed symbols and their addresses.
func symbols(text string) map[string]uint64 {
	wanted := map[string]bool{symbolChip: true, symbolTables: true, symbolDirect: true, symbolDynamic: true}
	found := map[string]uint64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || !wanted[words[2]] {
			continue
		}
		if at, err := strconv.ParseUint(words[0], 16, 64); err == nil && at != 0 {
			found[words[2]] = at
		}
	}
	return found
}

// errNotThere means that the kernel does not expose the memory.
var errNotThere = errors.New("no such memory")

// Read reads len(p) bytes at a kernel address.
func (m *Memory) Read(p []byte, at uint64) error {
	for _, part := range m.parts {
		if at < part.Vaddr || at-part.Vaddr >= part.Memsz {
			continue
		}
		if uint64(len(p)) > part.Memsz-(at-part.Vaddr) {
			break
		}
		if _, err := m.core.ReadAt(p, int64(at-part.Vaddr+part.Off)); err != nil {
			return fmt.Errorf("reading the kernel's memory at %#x: %w", at, err)
		}
		return nil
	}
	return fmt.Errorf("%w: %#x", errNotThere, at)
}

// word reads a 64-bit number.
func (m *Memory) word(at uint64) (uint64, error) {
	var b [8]byte
	err := m.Read(b[:], at)
	return binary.LittleEndian.Uint64(b[:]), err
}

// variable reads a 64-bit number by its symbol.
func (m *Memory) variable(name string) (uint64, error) {
	at, ok := m.symbols[name]
	if !ok {
		return 0, fmt.Errorf("the kernel shows no symbol %s", name)
	}
	return m.word(at)
}
