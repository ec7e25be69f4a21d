package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/sys/command"
	"whichfs/internal/sys/units"
)

// signature is something on a device that a program could recognise.
type signature struct {
	Type, Label, UUID string
	Offset            string // hexadecimal, as wipefs writes it
}

// String describes the signature.
func (s signature) String() string {
	name := s.Type
	switch s.Type {
	case "dos", "gpt", "PMBR", "mac", "sun", "bsd", "atari":
		name = "a partition table (" + s.Type + ")"
	}
	switch {
	case s.Label != "":
		return fmt.Sprintf("%s labelled %q", name, s.Label)
	case s.UUID != "":
		return name + " " + s.UUID
	}
	return name
}

// names says what signatures stand for, without duplicates: some are found in several places.
func names(found []signature) []string {
	var all []string
	for _, s := range found {
		all = append(all, s.String())
	}
	return unique(all)
}

var (
	offsetForm = regexp.MustCompile(`^0x[0-9a-f]+$`)
	typeForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`)
)

// parseSignatures reads the output of `wipefs --no-act --parsable`: one line
// "offset,uuid,label,type" for each signature, after a heading in some versions; nothing for an
// empty device. A label may contain commas. Anything else is an error, since output that cannot be
// read proves nothing.
func parseSignatures(text string) ([]signature, error) {
	var all []signature
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "# offset") {
			continue
		}
		fields := strings.Split(line, ",")
		n := len(fields)
		if n < 4 || !offsetForm.MatchString(fields[0]) || !typeForm.MatchString(fields[n-1]) {
			return nil, fmt.Errorf("line %q is not offset,uuid,label,type", line)
		}
		all = append(all, signature{Offset: fields[0], UUID: fields[1],
			Label: printable(strings.Join(fields[2:n-1], ",")), Type: fields[n-1]})
	}
	return all, nil
}

// contents describes what the device holds, in words and as findings. There is always a finding:
// blank storage gets one that says so. What cannot be determined counts as data: a guard that
// cannot see lets nothing pass.
func (r Roots) contents(ctx context.Context, path string, f *os.File, d Device) (contents, []finding) {
	var all []finding
	hold := func(format string, args ...any) { all = append(all, finding{text: fmt.Sprintf(format, args...)}) }
	parts, first := r.partitionsOf(ctx, d)
	if len(parts) > 0 {
		hold("it has the partitions %s", strings.Join(parts, ", "))
	}
	found, unproven := r.wipefs(ctx, path)
	if unproven != nil {
		return contents{}, append(all, *unproven)
	}
	for _, name := range names(found) {
		hold("it holds %s", name)
	}
	seen, err := look(f, d.Size)
	if err != nil {
		return contents{}, append(all, finding{text: "it cannot be read (" + err.Error() + ")", always: true, hint: "check the device and its connection"})
	}
	if table := partitionTable(seen.start); len(table) > 0 && len(parts) == 0 {
		all = slices.Insert(all, 0, finding{text: "its partition table lists " + units.List(table, mostPartitions)})
	}
	if len(all) == 0 {
		// wipefs found nothing. A wipefs that never finds anything would be a disaster, so the most
		// common signatures are also checked here.
		for _, s := range ownSigns(seen.start) {
			hold("it holds %s", s)
		}
	}
	gap := seen.filled(0, first)
	switch {
	case len(all) == 0 && seen.filled(0, d.Size) == 0:
		hold("it is blank in all %d places that were sampled", len(seen.places))
	case len(all) == 0:
		hold("it has no known signature, but %d of %d sampled places hold data", seen.filled(0, d.Size), len(seen.places))
	case first > 0 && gap > 1: // the table itself fills one place
		hold("there is data before its first partition, where boot loaders are (%d of %d sampled places hold data)", gap, seen.sampled(0, first))
	}
	for _, f := range all {
		seen.words = append(seen.words, strings.TrimPrefix(f.text, "it "))
	}
	return seen, all
}

// mostPartitions is how many partitions are described; the rest are counted.
const mostPartitions = 16

// partitionsOf describes the partitions of a disk as the kernel sees them: "sda1 (512M, vfat
// labelled "EFI")". first is the start of the first one, in bytes, 0 if there is none.
func (r Roots) partitionsOf(ctx context.Context, d Device) (described []string, first int64) {
	for i, name := range d.Partitions {
		part, err := r.byName(name)
		if err != nil {
			described = append(described, name)
			continue
		}
		if n, err := strconv.ParseInt(read(part.dir, "start"), 10, 54); err == nil && (first == 0 || n*512 < first) {
			first = n * 512
		}
		if i == mostPartitions {
			described = append(described, fmt.Sprintf("%d more", len(d.Partitions)-i))
		}
		if i >= mostPartitions {
			continue
		}
		about := []string{units.Size(part.Size)}
		for line := range strings.Lines(read(part.dir, "uevent")) {
			if label, ok := strings.CutPrefix(strings.TrimSpace(line), "PARTNAME="); ok {
				about = append(about, strconv.Quote(printable(label)))
			}
		}
		if found, unproven := r.wipefs(ctx, part.Path); unproven == nil {
			about = append(about, names(found)...)
		}
		described = append(described, name+" ("+strings.Join(about, ", ")+")")
	}
	return described, first
}

// wipefs asks wipefs for signatures.
func (r Roots) wipefs(ctx context.Context, path string) ([]signature, *finding) {
	unproven := func(why, hint string) *finding {
		return &finding{text: "it cannot be proven to be empty: " + why, hint: hint}
	}
	program, err := command.Look(r.Wipefs)
	if err != nil {
		return nil, unproven(r.Wipefs+" is missing", "install util-linux")
	}
	limited, cancel := context.WithTimeout(ctx, r.WipefsLimit)
	defer cancel()
	got, err := command.Run(limited, command.Options{}, program, "--no-act", "--parsable", path)
	if limited.Err() != nil && err != nil {
		if ctx.Err() != nil {
			return nil, unproven("the check was interrupted", "")
		}
		why := fmt.Sprintf("wipefs gave no answer within %v", r.WipefsLimit)
		if stuck := (*command.Stuck)(nil); errors.As(err, &stuck) {
			why += ", and " + stuck.Error()
		}
		f := unproven(why, "check the device and its connection")
		f.always = true // a device that does not answer is never usable
		return nil, f
	}
	if err != nil {
		return nil, unproven(err.Error(), "")
	}
	found, err := parseSignatures(got.Stdout)
	if err != nil {
		return nil, unproven("wipefs answered nonsense: "+err.Error(), "reinstall util-linux")
	}
	return found, nil
}

// ownSigns searches the start of a device for a boot record (MBR, FAT, exFAT, NTFS), a GPT with any
// block size, ext, XFS, btrfs and swap.
func ownSigns(b []byte) []string {
	at := func(offset int, magic string) bool {
		return offset+len(magic) <= len(b) && string(b[offset:offset+len(magic)]) == magic
	}
	var signs []string
	switch {
	case at(512, "EFI PART") || at(4096, "EFI PART"):
		signs = append(signs, "a GPT partition table")
	case len(b) >= 512 && binary.LittleEndian.Uint16(b[510:]) == 0xaa55:
		signs = append(signs, "a boot record (partition table, FAT, exFAT or NTFS)")
	}
	for _, m := range []struct {
		offset      int
		magic, name string
	}{{0x438, "\x53\xef", "an ext2, ext3 or ext4 superblock"}, {0, "XFSB", "an XFS superblock"},
		{0x10040, "_BHRfS_M", "a btrfs superblock"}, {4086, "SWAPSPACE2", "a swap header"}, {0, "LUKS\xba\xbe", "a LUKS header"}} {
		if at(m.offset, m.magic) {
			signs = append(signs, m.name)
		}
	}
	return signs
}
