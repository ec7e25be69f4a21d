package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// Kind describes the flash.
func (m MTD) Kind() string {
	switch m.Type {
	case "nand":
		return "raw NAND flash"
	case "mlc-nand":
		return "raw NAND flash (MLC)"
	case "nor":
		return "NOR flash"
	case "":
		return "raw flash"
	}
	return "raw flash (" + m.Type + ")"
}

// ECC is the error correction as the kernel reports it.
func (m MTD) ECC() string {
	strength, step := read(m.dir, "ecc_strength"), read(m.dir, "ecc_step_size")
	switch {
	case strength == "" || step == "":
		return notReported
	case strength == "0":
		return "none that the kernel knows of"
	}
	unit := " bits per "
	if strength == "1" {
		unit = " bit per "
	}
	return strength + unit + step + " B"
}

// Conditions are all facts about the flash for the report.
func (m MTD) Conditions() []result.Condition {
	var all []result.Condition
	add := func(matters bool, name, value string) {
		if value != "" {
			all = append(all, result.Condition{Group: "storage", Name: name, Value: value, Matters: matters})
		}
	}
	bytes := func(n int64) string { return strconv.FormatInt(n, 10) + " B" }
	add(false, "device", m.Path)
	add(false, "label", m.Label)
	add(true, "size", bytes(m.Size))
	add(true, "kind", m.Kind())
	add(true, "page", fmt.Sprintf("%d B and %d spare", m.Page, m.OOB))
	if m.Sub > 0 {
		add(true, "sub-page", bytes(m.Sub))
	}
	add(true, "erase block", bytes(m.Erase))
	if m.Offset >= 0 {
		add(false, "offset on its chip", bytes(m.Offset))
	}
	add(false, "controller", m.Parent)
	if m.Parent != "" {
		if driver, err := os.Readlink(filepath.Join(m.dir, "device/driver")); err == nil {
			add(false, "driver", filepath.Base(driver))
		}
		compatible, _, _ := strings.Cut(read(m.dir, "device/of_node/compatible"), "\x00")
		add(false, "compatible", printable(compatible))
	}
	add(true, "error correction", m.ECC())
	for _, f := range []struct{ file, name string }{{"bad_blocks", "bad blocks"}, {"bbt_blocks", "blocks of the table of bad ones"},
		{"bitflip_threshold", "bit flips that count"}, {"corrected_bits", "bits corrected since it was attached"},
		{"ecc_failures", "uncorrectable errors since it was attached"}} {
		add(f.file == "bad_blocks", f.name, orUnknown(read(m.dir, f.file)))
	}
	return all
}

// conditionsMTD are all facts about raw flash. The known properties of a simulated chip come first;
// the kernel's findings follow.
func (c *Claim) conditionsMTD() []result.Condition {
	var all []result.Condition
	if c.chip != nil {
		all = c.chip.Conditions()
	}
	for _, f := range c.flash.Conditions() {
		if !slices.ContainsFunc(all, func(o result.Condition) bool { return o.Name == f.Name }) {
			all = append(all, f)
		}
	}
	return append(all, c.extra...)
}
