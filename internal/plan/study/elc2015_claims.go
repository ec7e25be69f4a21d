package study

import (
	"fmt"
	"strings"
)

// e15Rows are the filesystems in the charts.
var e15Rows = []string{e15Ext4, e15Btrfs, e15F2fs, e15Xfs, e15Nilfs2}

// e15Same is the limit of an equal time: 10 % either way.
const e15SameLow, e15SameHigh = 1 / 1.1, 1.1

// e15Claims are the findings of the talk, in our words. Where it gives no
// figure the limits are ours, and the text states them.
func e15Claims() []Claim {
	var claims []Claim
	for _, group := range [][]Claim{
		e15Reads(), e15Writes(), e15Mixes(), e15Cost(), e15Mounts(), e15Tables(), e15Later(),
	} {
		claims = append(claims, group...)
	}
	return claims
}

func e15Ratio(id, text, where, column, a string, b []string, low, high float64) Claim {
	return Claim{ID: id, Text: text, Where: where, Check: RatioCheck{Column: column, A: a, B: b, Low: low, High: high}}
}

func e15Best(id, text, where, column, candidate string, worst bool) Claim {
	return Claim{ID: id, Text: text, Where: where,
		Check: BestCheck{Column: column, Candidate: candidate, Among: e15Rows, Worst: worst}}
}

// e15Two compares two kinds of work on the same filesystems.
func e15Two(id, text, where, column, over string, low, high float64, candidates ...string) Claim {
	if len(candidates) == 0 {
		candidates = e15Rows
	}
	return Claim{ID: id, Text: text, Where: where,
		Check: ColumnsCheck{Column: column, Over: over, Low: low, High: high, Candidates: candidates}}
}

// follows adds what in the model of a simulated storage decides the claim.
func (c Claim) follows(what string) Claim {
	c.Follows = what
	return c
}

func e15Untested(id, text, where, why string) Claim {
	return Claim{ID: id, Text: text, Where: where, Check: Untested(why)}
}

// e15Reads has the claims of the slides on reading.
func e15Reads() []Claim {
	const direct, buffered, bus = "slide “Read performances direct”", "slide “Read performances buffered”", "slide “Read bus usage”"
	var claims []Claim
	others := e15Rows[1:]
	for _, c := range e15Matrix() {
		if c.reads() && c.direct {
			claims = append(claims, e15Ratio("limit-"+c.phase(), fmt.Sprintf("filesystems are not the bottleneck when reading: %s in blocks of %s takes each of them as long as ext4 (within 10 %%)",
				strings.ToLower(e15Words[c.rw]), e15Words[c.block]), direct, c.phase(), e15Ext4, others, e15SameLow, e15SameHigh))
		}
	}
	for _, rw := range []string{"read", "randread"} {
		name := strings.ToLower(e15Words[rw])
		claims = append(claims,
			e15Two("large-"+rw, "large blocks read faster: "+name+", direct, takes at least 10 % less time for the same data in blocks of 4 MiB than of 4 KiB",
				direct, rw+"-4m-direct", rw+"-4k-direct", 0, 1/1.1).follows("its time for a request of any length"))
	}
	for _, block := range []string{"4M", "4k"} {
		b := strings.ToLower(block)
		claims = append(claims, e15Two("random-"+b, "whether reads are sequential or random does not matter (10 % for the same data), direct, in blocks of "+e15Words[block],
			direct, "randread-"+b+"-direct", "read-"+b+"-direct", e15SameLow, e15SameHigh).follows("its time to read, the same at every place"))
	}
	return append(claims,
		e15Two("small-buffered", "through the cache, sequential reads in small blocks are as fast as in large ones (10 % more time at most)",
			buffered, "read-4k-buffered", "read-4m-buffered", 0, e15SameHigh),
		e15Two("small-gain", "sequential reads in small blocks gain by the cache (at least 10 % less time than direct ones)",
			buffered, "read-4k-buffered", "read-4k-direct", 0, 1/1.1),
		e15Two("merged", "through the cache small sequential reads are merged, direct ones are not (at most half as many requests for the same data)",
			bus, "requests-buffered", "requests-direct", 0, 0.5))
}

// e15Writes has the claims of the slides on writing.
func e15Writes() []Claim {
	const direct, buffered, bus = "slide “Write performances direct”", "slide “Write performances buffered”", "slide “Write performances bus usage”"
	var claims []Claim
	others := []string{e15Ext4, e15Btrfs, e15Xfs}
	for _, c := range e15Matrix() {
		what := strings.ToLower(e15Words[c.rw]) + " in blocks of " + e15Words[c.block]
		switch {
		case c.reads():
		case c.direct:
			for _, fs := range []string{e15F2fs, e15Nilfs2} {
				claims = append(claims, e15Ratio(fs+"-"+c.phase(), fmt.Sprintf("%s is faster than ext4, Btrfs and XFS at direct writing: %s", strings.ToUpper(fs), what),
					direct, c.phase(), fs, others, 0, 1))
			}
		default:
			claims = append(claims, e15Best("f2fs-"+c.phase(), "F2FS is fastest at writing through the cache: "+what, buffered, c.phase(), e15F2fs, false))
		}
	}
	return append(claims,
		e15Two("btrfs-small", "Btrfs gains by the cache when it writes small blocks in sequence (at least 10 % less time than direct)",
			buffered, "write-4k-buffered", "write-4k-direct", 0, 1/1.1, e15Btrfs),
		e15Two("busy-direct", "the bus is close to fully used when writing directly (at least 90 % of the time)", bus, "busy-write-direct", "total-write-direct", 0.9, 0),
		e15Two("busy-buffered", "the bus is close to fully used when writing through the cache (at least 90 % of the time)", bus, "busy-write-buffered", "total-write-buffered", 0.9, 0),
		e15Best("f2fs-writes", "F2FS is the fastest writer by far: all direct jobs together", bus, "total-write-direct", e15F2fs, false))
}

// e15Mixes has the claims on several threads.
func e15Mixes() []Claim {
	const where, scale = "slide “Mixed performances”", "slide “Scalability”"
	var claims []Claim
	for _, step := range e15Mixed(e15Amount{published: true}) {
		what := strings.Join(strings.Split(step.Phase, "-")[1:], ", ")
		claims = append(claims,
			e15Ratio("ext4-"+step.Phase, "ext4 falls well behind Btrfs and F2FS with several threads (at least 1.25 times the time): "+what,
				where+", "+scale, step.Phase, e15Ext4, []string{e15Btrfs, e15F2fs}, 1.25, 0),
			e15Ratio("xfs-"+step.Phase, "XFS falls behind Btrfs and F2FS with several threads (at least 1.1 times the time): "+what,
				where+", "+scale, step.Phase, e15Xfs, []string{e15Btrfs, e15F2fs}, 1.1, 0))
		if strings.HasSuffix(step.Phase, "buffered") {
			claims = append(claims, e15Best("f2fs-"+step.Phase, "F2FS is fastest with several threads through the cache: "+what, where, step.Phase, e15F2fs, false))
		}
	}
	return append(claims, e15Untested("nilfs2-mixed", "NILFS2's figures with several threads may be wrong", where,
		"the claim is about the figures of the source, which says that they have to be checked"))
}

// e15Cost has the claims on processor and kernel threads.
func e15Cost() []Claim {
	const threads, efficiency = "slide “Test results” on kernel threads", "slide “Efficiency”"
	claims := []Claim{
		e15Two("threads-negligible", "the background work of the filesystems' kernel threads is negligible (their processor time at most 2 % of the duration)",
			threads, "threads-cpu", "total-all", 0, 0.02),
		e15Untested("threads-spread", "the processor time of the kernel threads differs by an order of magnitude between filesystems", threads,
			"the slide does not name the filesystems; the figures are in the column of the kernel threads"),
		e15Untested("relative-processor", "writing uses less of the processor than reading, in relation to its duration", efficiency,
			"the claim compares two shares; the processor times are next to the durations"),
	}
	for _, through := range []string{"direct", "buffered"} {
		column := "cpu-write-" + through
		claims = append(claims,
			e15Best("btrfs-cpu-"+through, "Btrfs takes the most processor time: writing, "+through, efficiency, column, e15Btrfs, true),
			e15Ratio("f2fs-cpu-"+through, "F2FS takes clearly less processor time than NILFS2 (at least 10 %): writing, "+through, efficiency, column,
				e15F2fs, []string{e15Nilfs2}, 0, 1/1.1))
		for _, fs := range []string{e15F2fs, e15Nilfs2} {
			claims = append(claims, e15Ratio(fs+"-more-cpu-"+through, strings.ToUpper(fs)+" takes more processor time than ext4 and XFS: writing, "+through, efficiency, column,
				fs, []string{e15Ext4, e15Xfs}, 1, 0))
		}
	}
	return claims
}

func e15Mounts() []Claim {
	const where = "slide “Mount time”"
	quick := []string{e15Ext4, e15Btrfs}
	return []Claim{
		e15Ratio("mount-f2fs", "F2FS mounts more slowly than ext4 and Btrfs (at least 10 % more time)", where, "mount", e15F2fs, quick, 1.1, 0),
		e15Ratio("mount-nilfs2", "NILFS2 mounts more slowly than ext4 and Btrfs (at least 10 % more time)", where, "mount", e15Nilfs2, quick, 1.1, 0),
		e15Best("mount-xfs", "XFS mounts most slowly", where, "mount", e15Xfs, true),
	}
}

// e15Tables has the published figures as orders and, where they should be the
// same today, individually.
func e15Tables() []Claim {
	var claims []Claim
	for _, n := range e15Numbers() {
		claims = append(claims, Claim{ID: "table-" + n.Key, Text: "the order of the filesystems in “" + n.Name + "”", Where: n.Source,
			Check: NumbersCheck{Table: n.Key}})
		for _, c := range n.Cells {
			value := ValueCheck{Column: n.Column, Candidate: c.Candidate, Low: c.Value - 0.5, High: c.Value + 0.5} // whole numbers
			text := fmt.Sprintf("%s has %g kernel threads, as Linux 3.19 had", c.Label, c.Value)
			switch n.Key {
			case "empty":
				value.Low, value.High = 0.75*c.Value*(1<<20), 1.25*c.Value*(1<<20)
				text = fmt.Sprintf("%s counts %g MiB as used when it is empty (25 %% either way count as agreement)", c.Label, c.Value)
			case "threads":
			default:
				continue
			}
			claims = append(claims, Claim{ID: n.Key + "-" + c.Candidate, Text: text, Where: n.Source, Check: value})
		}
	}
	return claims
}

// e15Later has findings that this study cannot test.
func e15Later() []Claim {
	const kernels, supports = "slide “Boot time depending on kernel version”", "slides “Write performances supports”, “Boot time depending on support”"
	const old = "the claim compares kernels 3.12 and 3.19, which the lab lacks; the boot columns show boots of the available kernels"
	return []Claim{
		e15Untested("boot-gain", "booting became much faster from Linux 3.12 to 3.19", kernels, old),
		e15Untested("boot-gap", "the others come closer to ext4 in booting, from kernel to kernel", kernels, old),
		e15Untested("boot-variation", "boots of ext4 and XFS vary more than others' (in Linux 3.19 ext4's by 1 %, the others' by less than 0.3 %)",
			"slide “Boot time variations depending on kernel version”", "the start times of a guest alone vary by more than 1 %"),
		e15Untested("boot-support", "booting takes as long from each of the two cards and the eMMC", supports,
			"the claim compares the storages of a series: compare the boot columns of the series' runs"),
		e15Untested("same-cards", "both SD cards show about the same figures", supports, "one simulated card represents both"),
		e15Untested("samsung", "F2FS has no advantage on a card from Samsung, its author", supports, "the claim is about the controller of one real card"),
	}
}
