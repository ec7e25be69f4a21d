package kmod

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxInfo exceeds the size of the sections read here, in bytes, so that a
// header cannot request more memory than the file justifies.
const maxInfo = 1 << 20

// ReadHead reads a module file's metadata and leaves its code alone.
func ReadHead(r io.ReaderAt) (Module, error) { return parse(r) }

// parse reads the sections .modinfo and __versions; see modpost in the
// kernel's scripts/mod, and check_version in kernel/module.
func parse(r io.ReaderAt) (Module, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return Module{}, plain(err)
	}
	m := Module{Machine: f.Machine}
	info, err := section(f, ".modinfo")
	switch {
	case err != nil:
		return m, err
	case f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN:
		return m, errors.New("it is a program or a library")
	case f.Type != elf.ET_REL:
		return m, fmt.Errorf("it is of ELF type %v, and a module is %v", f.Type, elf.ET_REL)
	case info == nil:
		return m, errors.New("it has no section .modinfo: it is an object file that the kernel's build has not linked into a module (.ko)")
	}
	for _, word := range strings.Split(string(info), "\x00") {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "name":
			m.Name = strings.ReplaceAll(value, "-", "_")
		case "vermagic":
			m.Vermagic = value
		case "depends":
			for _, d := range strings.Split(value, ",") {
				if d != "" {
					m.Depends = append(m.Depends, strings.ReplaceAll(d, "-", "_"))
				}
			}
		}
	}
	switch {
	case m.Vermagic == "":
		return m, errors.New("it does not say which kernel it was built for")
	case strings.ContainsAny(m.Name, "/ \t\n") || m.Name == "." || m.Name == "..":
		return m, fmt.Errorf("it calls itself %q", m.Name)
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".rela.debug_") || strings.HasPrefix(s.Name, ".rel.debug_") {
			m.Debug += int64(min(s.FileSize, MaxSize))
		}
	}
	m.Versions, err = versions(f)
	return m, err
}

// plain removes the byte offsets from the ELF reader's errors.
func plain(err error) error {
	var format *elf.FormatError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is truncated")
	case errors.As(err, &format) && strings.Contains(err.Error(), "bad magic number"):
		return errors.New("it is not an ELF file")
	}
	return err
}

// section returns a section's contents; nil if there is none of that name.
func section(f *elf.File, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	if s.Type == elf.SHT_NOBITS || s.Size > maxInfo || s.FileSize > maxInfo {
		return nil, fmt.Errorf("its section %s is malformed", name)
	}
	body, err := s.Data()
	if err != nil {
		return nil, plain(err)
	}
	return body, nil
}

// versions reads the symbol checksums in either form: 64-byte records that
// start with the checksum, one machine word long; or, since Linux 6.14, 4-byte
// checksums and names in separate sections.
func versions(f *elf.File) (map[string]uint64, error) {
	out := map[string]uint64{}
	sums, err := section(f, "__version_ext_crcs")
	if err != nil {
		return nil, err
	}
	names, err := section(f, "__version_ext_names")
	if err != nil {
		return nil, err
	}
	for len(sums) >= 4 && len(names) > 0 {
		name, rest, _ := bytes.Cut(names, []byte{0})
		out[string(name)] = uint64(f.ByteOrder.Uint32(sums))
		sums, names = sums[4:], rest
	}
	body, err := section(f, "__versions")
	if err != nil {
		return nil, err
	}
	const entry = 64
	word := 8
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	for ; len(body) >= entry; body = body[entry:] {
		name, _, _ := bytes.Cut(body[word:entry], []byte{0})
		if len(name) > 0 {
			out[string(name)] = number(f.ByteOrder, body[:word])
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func number(order binary.ByteOrder, word []byte) uint64 {
	if len(word) == 4 {
		return uint64(order.Uint32(word))
	}
	return order.Uint64(word)
}
