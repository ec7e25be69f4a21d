// Package kmodtest makes kernel module files that contain only what whichfs
// reads, and no code.
package kmodtest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Spec of a module file.
type Spec struct {
	Machine elf.Machine
	Class   elf.Class // 0: 64 bits
	Order   binary.ByteOrder
	Type    elf.Type          // 0: ET_REL
	Info    []string          // "name=yaffs2"; nil: no section
	Sums    map[string]uint64 // of symbols
	Ext     bool              // in the sections of Linux 6.14
	Debug   []byte            // debug information
}

// Module returns a plausible spec for amd64.
func Module(name, vermagic string, more ...string) Spec {
	return Spec{Machine: elf.EM_X86_64, Info: append([]string{"license=GPL", "depends=", "name=" + name, "vermagic=" + vermagic}, more...)}
}

type part struct {
	name string
	body []byte
}

// Build makes the file.
func Build(s Spec) []byte {
	if s.Order == nil {
		s.Order = binary.LittleEndian
	}
	if s.Class == 0 {
		s.Class = elf.ELFCLASS64
	}
	if s.Type == 0 {
		s.Type = elf.ET_REL
	}
	parts := []part{{}}
	if s.Info != nil {
		var info bytes.Buffer
		for _, word := range s.Info {
			info.WriteString(word + "\x00")
		}
		parts = append(parts, part{".modinfo", info.Bytes()})
	}
	parts = append(parts, s.versions()...)
	if s.Debug != nil {
		parts = append(parts, part{".debug_info", s.Debug})
	}
	names := []byte{}
	offsets := make([]uint32, len(parts)+1)
	for i, p := range append(parts, part{name: ".shstrtab"}) {
		offsets[i] = uint32(len(names))
		names = append(append(names, p.name...), 0)
	}
	parts = append(parts, part{".shstrtab", names})
	return s.assemble(parts, offsets)
}

func (s Spec) versions() []part {
	var sums, names bytes.Buffer
	symbols := []string{}
	for name := range s.Sums {
		symbols = append(symbols, name)
	}
	slices.Sort(symbols)
	for _, name := range symbols {
		if s.Ext {
			_ = binary.Write(&sums, s.Order, uint32(s.Sums[name]))
			names.WriteString(name + "\x00")
			continue
		}
		entry := make([]byte, 64)
		if s.Class == elf.ELFCLASS32 {
			s.Order.PutUint32(entry, uint32(s.Sums[name]))
			copy(entry[4:], name)
		} else {
			s.Order.PutUint64(entry, s.Sums[name])
			copy(entry[8:], name)
		}
		sums.Write(entry)
	}
	switch {
	case len(symbols) == 0:
		return nil
	case s.Ext:
		return []part{{"__version_ext_crcs", sums.Bytes()}, {"__version_ext_names", names.Bytes()}}
	}
	return []part{{"__versions", sums.Bytes()}}
}

// assemble puts the header first, then the sections' contents, then the
// section headers.
func (s Spec) assemble(parts []part, names []uint32) []byte {
	head, entry := 64, 64
	if s.Class == elf.ELFCLASS32 {
		head, entry = 52, 40
	}
	var body, table bytes.Buffer
	for i, p := range parts {
		kind := uint32(elf.SHT_PROGBITS)
		switch {
		case i == 0:
			kind = uint32(elf.SHT_NULL)
		case i == len(parts)-1:
			kind = uint32(elf.SHT_STRTAB)
		}
		at, size := uint64(head+body.Len()), uint64(len(p.body))
		if s.Class == elf.ELFCLASS32 {
			_ = binary.Write(&table, s.Order, elf.Section32{Name: names[i], Type: kind, Off: uint32(at), Size: uint32(size), Addralign: 1})
		} else {
			_ = binary.Write(&table, s.Order, elf.Section64{Name: names[i], Type: kind, Off: at, Size: size, Addralign: 1})
		}
		body.Write(p.body)
	}
	data := elf.ELFDATA2LSB
	if s.Order == binary.BigEndian {
		data = elf.ELFDATA2MSB
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(s.Class), byte(data), byte(elf.EV_CURRENT)}
	var out bytes.Buffer
	tableAt := uint64(head + body.Len())
	if s.Class == elf.ELFCLASS32 {
		_ = binary.Write(&out, s.Order, elf.Header32{Ident: ident, Type: uint16(s.Type), Machine: uint16(s.Machine), Version: 1, Shoff: uint32(tableAt),
			Ehsize: uint16(head), Shentsize: uint16(entry), Shnum: uint16(len(parts)), Shstrndx: uint16(len(parts) - 1)})
	} else {
		_ = binary.Write(&out, s.Order, elf.Header64{Ident: ident, Type: uint16(s.Type), Machine: uint16(s.Machine), Version: 1, Shoff: tableAt,
			Ehsize: uint16(head), Shentsize: uint16(entry), Shnum: uint16(len(parts)), Shstrndx: uint16(len(parts) - 1)})
	}
	out.Write(body.Bytes())
	out.Write(table.Bytes())
	return out.Bytes()
}
