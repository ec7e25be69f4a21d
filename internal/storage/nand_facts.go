package storage

import (
	"fmt"

	"whichfs/internal/result"
)

// ECCText says what the chip's error correction is, for people.
func (n NAND) ECCText() string {
	if n.ECC > 0 {
		return fmt.Sprintf("BCH in software, %d bits per 512 B", n.ECC)
	}
	return "Hamming in software, 1 bit per 256 B"
}

// Conditions are all facts about the chip for the report.
func (n NAND) Conditions() []result.Condition {
	var all []result.Condition
	add := func(name, format string, args ...any) {
		all = append(all, result.Condition{Group: "storage", Name: name, Value: fmt.Sprintf(format, args...), Matters: true})
	}
	add("lab storage", "raw NAND chip in the guest's memory (nandsim), delays by busy waiting")
	add("chip size", "%d B", n.Size)
	add("chip id", "% x", n.ID)
	add("page", "%d B and %d spare", n.Page, n.OOB)
	add("erase block", "%d B", n.Block)
	add("page read", "%d µs", NANDReadDelay)
	add("page program", "%d µs", NANDProgramDelay)
	add("block erase", "%d ms", NANDEraseDelay)
	add("bus cycle", "%d ns a byte", NANDCycle)
	add("error correction", "%s", n.ECCText())
	if n.Bitflips > 0 {
		add("bit flips", "at most %d a page, in one of about 1000 reads", n.Bitflips)
	}
	if len(n.Bad) > 0 {
		add("bad blocks", "%s", joined(n.Bad))
	}
	for _, l := range []struct {
		name string
		list []Limit
	}{{"weak blocks (erases)", n.Weak}, {"weak pages (writes)", n.WeakPages}, {"grave pages (reads)", n.GravePages}} {
		if len(l.list) > 0 {
			add(l.name, "%s", limits(l.list, "/", ", "))
		}
	}
	cycles := fmt.Sprintf("%d erases of a block", n.Cycles)
	if n.Cycles == nandCycles {
		cycles += " (assumed: usual for one bit to the cell)"
	}
	// Nothing is measured with it, so that it sets no two runs apart.
	return append(all, result.Condition{Group: "storage", Name: "rated endurance", Value: cycles})
}
