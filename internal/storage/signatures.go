package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"whichfs/internal/command"
)

// signature is what a program could recognise on a device.
type signature struct {
	Type, Label, UUID string
	Offset            string // hexadecimal, as wipefs writes it
}

func (s signature) String() string {
	text := s.Type
	if s.Label != "" {
		text += fmt.Sprintf(" labelled %q", s.Label)
	} else if s.UUID != "" {
		text += " " + s.UUID
	}
	return text + " at offset " + s.Offset
}

var (
	offsetForm = regexp.MustCompile(`^0x[0-9a-f]+$`)
	typeForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`)
)

// parseSignatures reads what `wipefs --no-act --parsable` prints: one line
// "offset,uuid,label,type" for each signature, after a heading in some
// versions; nothing for an empty device. A label may hold commas. Anything else
// is an error, since what cannot be read proves nothing.
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

// contents lists what the device holds. What cannot be found out counts as
// something held: a guard that cannot see lets nothing pass.
func (r Roots) contents(ctx context.Context, path string, d Device) []finding {
	var all []finding
	hold := func(format string, args ...any) { all = append(all, finding{text: fmt.Sprintf(format, args...)}) }
	if len(d.Partitions) > 0 {
		hold("it has the partitions %s", strings.Join(d.Partitions, ", "))
	}
	found, f := r.wipefs(ctx, path)
	if f != nil {
		return append(all, *f)
	}
	for _, s := range found {
		hold("it holds the signature %s", s)
	}
	if len(all) > 0 {
		return all
	}
	// wipefs said "nothing". A wipefs that says so of everything would be a
	// disaster, so the commonest signs are looked for here as well.
	signs, err := ownSigns(path)
	if err != nil {
		all = append(all, finding{text: "it cannot be read (" + err.Error() + ")", always: true, hint: "check the device and its connection"})
	}
	for _, s := range signs {
		hold("it holds %s", s)
	}
	return all
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
	type answer struct {
		result command.Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := command.Run(limited, command.Options{}, program, "--no-act", "--parsable", path)
		answers <- answer{result, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-limited.Done():
		// A process that waits for a broken device cannot even be killed, so
		// its end is not waited for. One that can be gets a moment.
		select {
		case a = <-answers:
		case <-time.After(time.Second):
			a.err = limited.Err()
		}
	}
	if limited.Err() != nil && a.err != nil {
		if ctx.Err() != nil {
			return nil, unproven("the check was interrupted", "")
		}
		f := unproven(fmt.Sprintf("wipefs gave no answer within %v", r.WipefsLimit), "check the device and its connection")
		f.always = true // whatever it holds, it does not answer
		return nil, f
	}
	if a.err != nil {
		return nil, unproven(a.err.Error(), "")
	}
	found, err := parseSignatures(a.result.Stdout)
	if err != nil {
		return nil, unproven("wipefs answered nonsense: "+err.Error(), "reinstall util-linux")
	}
	return found, nil
}

// ownSigns looks for a boot record (MBR, FAT, exFAT, NTFS), a GPT with any
// block size, ext, XFS, btrfs and swap.
func ownSigns(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	b := make([]byte, 0x10050)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) { // a small device ends early
		return nil, err
	}
	at := func(offset int, magic string) bool {
		return offset+len(magic) <= n && string(b[offset:offset+len(magic)]) == magic
	}
	var signs []string
	switch {
	case at(512, "EFI PART") || at(4096, "EFI PART"):
		signs = append(signs, "a GPT partition table")
	case n >= 512 && binary.LittleEndian.Uint16(b[510:]) == 0xaa55:
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
	return signs, nil
}
