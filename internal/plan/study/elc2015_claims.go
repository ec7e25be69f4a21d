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
		e15Reads(), e15Writes(), e15Mixes(), e15Cost(), e15Mounts(), e15Tables(), e15Boots(),
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
			claims = append(claims, e15Ratio("f2fs-"+c.phase(), "F2FS writes impressively through the cache (faster than ext4): "+what, buffered, c.phase(), e15F2fs, []string{e15Ext4}, 0, 1))
		}
	}
	return append(claims,
		e15Two("btrfs-small", "Btrfs gains by the cache when it writes small blocks in sequence (at least 10 % less time than direct)",
			buffered, "write-4k-buffered", "write-4k-direct", 0, 1/1.1, e15Btrfs),
		e15Two("busy-direct", "the bus is close to fully used when writing directly (at least 90 % of the time)", bus, "busy-write-direct", "total-write-direct", 0.9, 0),
		e15Two("busy-buffered", "the bus is close to fully used when writing through the cache (at least 90 % of the time)", bus, "busy-write-buffered", "total-write-buffered", 0.9, 0),
		e15ByFar("direct", bus), e15ByFar("buffered", bus))
}

// e15ByFar: the slide names the card.
func e15ByFar(through, where string) Claim {
	c := e15Ratio("f2fs-writes-"+through, "F2FS writes fastest by far on the second card, "+through+" (all jobs together: at most 80 % of the time of any other)",
		where, "total-write-"+through, e15F2fs, []string{e15Ext4, e15Btrfs, e15Xfs, e15Nilfs2}, 0, 0.8)
	c.Storage, c.At = e15Second, "claims"
	return c
}

// e15Mixes has the claims on several threads. How a filesystem scales is its
// time with four jobs over that with one, for the same data.
func e15Mixes() []Claim {
	const where, scale = "slide “Mixed performances”", "slide “Scalability”"
	leaders := []string{e15Btrfs, e15F2fs}
	var claims []Claim
	for _, step := range e15Mixed(e15Amount{published: true}) {
		what := strings.Join(strings.Split(step.Phase, "-")[1:], ", ")
		scaling := e15Scaling(step.Phase)
		claims = append(claims, e15Ratio("ext4-"+step.Phase, "ext4 falls well behind Btrfs and F2FS with several threads (at least 1.25 times the time): "+what,
			where, step.Phase, e15Ext4, leaders, 1.25, 0))
		scales := []Claim{
			e15Ratio("ext4-"+scaling, "ext4 does not scale as well as Btrfs and F2FS: "+what, scale, scaling, e15Ext4, leaders, 1, 0),
			e15Ratio("xfs-"+scaling, "XFS does not scale as well as Btrfs and F2FS: "+what, where, scaling, e15Xfs, leaders, 1, 0),
		}
		if strings.HasSuffix(step.Phase, "buffered") {
			scales = append(scales, e15Ratio("f2fs-"+scaling, "F2FS scales better than the others through the cache: "+what, where, scaling, e15F2fs,
				[]string{e15Ext4, e15Btrfs, e15Xfs, e15Nilfs2}, 0, 1))
		}
		for i := range scales {
			scales[i].At = "claims"
		}
		claims = append(claims, scales...)
	}
	return append(claims, e15Untested("nilfs2-mixed", "NILFS2's figures with several threads may be wrong", where,
		"the claim is about the figures of the source, which says that they have to be checked"))
}

// e15Cost has the claims on processor and kernel threads. The charts show the
// average use of the processor over the time of the test: a share. Processor
// time for the same data says what the work costs.
func e15Cost() []Claim {
	const threads, efficiency = "slide “Test results” on kernel threads", "slide “Efficiency”"
	claims := []Claim{
		e15Two("threads-negligible", "the background work of the filesystems' kernel threads is negligible (their processor time at most 2 % of the duration)",
			threads, "threads-cpu", "threads-time", 0, 0.02),
		{ID: "threads-spread", Text: "the processor time of the kernel threads differs by an order of magnitude between filesystems (at least 5 times)", Where: threads,
			Check: SpreadCheck{Column: "threads-cpu", Candidates: e15Rows, Low: 5}},
	}
	plain := []string{e15Ext4, e15Xfs}
	for _, through := range []string{"direct", "buffered"} {
		claims = append(claims, e15Two("relative-processor-"+through, "writing uses a smaller share of the processor than reading, because it takes longer: "+through,
			efficiency, "use-write-"+through, "use-read-"+through, 0, 1))
		for _, m := range []struct{ id, column, what string }{
			{"cpu", "cpu-write-", "processor time"}, {"use", "use-write-", "of the processor, as a share of the time,"},
		} {
			column, id := m.column+through, m.id+"-"+through
			claims = append(claims,
				e15Ratio("btrfs-"+id, "Btrfs does not use the processor efficiently: it takes more "+m.what+" than ext4 and XFS (at least 10 %): writing, "+through, efficiency, column,
					e15Btrfs, plain, 1.1, 0),
				e15Ratio("f2fs-"+id, "F2FS is clearly more efficient than NILFS2 (at least 10 % less "+m.what+"): writing, "+through, efficiency, column,
					e15F2fs, []string{e15Nilfs2}, 0, 1/1.1))
			for _, fs := range []string{e15F2fs, e15Nilfs2} {
				claims = append(claims, e15Ratio(fs+"-more-"+id, strings.ToUpper(fs)+" takes more "+m.what+" than ext4 and XFS: writing, "+through, efficiency, column,
					fs, plain, 1, 0))
			}
		}
		for _, fs := range []string{e15F2fs, e15Nilfs2} {
			claims = append(claims, e15Ratio(fs+"-shorter-"+through, strings.ToUpper(fs)+" takes less time than ext4 and XFS: writing, "+through, efficiency, "total-write-"+through,
				fs, plain, 0, 1))
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
// same today, individually. Those of space are about a filesystem of 1 GB, which
// every storage of the study has.
func e15Tables() []Claim {
	var claims []Claim
	for _, n := range e15Numbers() {
		if n.Key != "total" { // more is not worse, so that it has no order
			claims = append(claims, Claim{ID: "table-" + n.Key, Text: "the order of the filesystems in “" + n.Name + "”", Where: n.Source,
				Check: NumbersCheck{Table: n.Key}})
		}
		for _, c := range n.Cells {
			value := ValueCheck{Column: n.Column, Candidate: c.Candidate, Low: c.Value - 0.5, High: c.Value + 0.5} // whole numbers
			text, storage := "", ""
			share := func(by float64) {
				value.Low, value.High = (1-by)*c.Value*(1<<20), (1+by)*c.Value*(1<<20)
				storage = e15First
			}
			switch n.Key {
			case "total":
				share(0.02)
				text = fmt.Sprintf("%s offers %g MiB of 1 GiB (2 %% either way count as agreement)", c.Label, c.Value)
			case "empty":
				share(0.25)
				text = fmt.Sprintf("%s counts %g MiB as used when it is empty (25 %% either way count as agreement)", c.Label, c.Value)
			case "threads":
				text = fmt.Sprintf("%s has %g kernel threads, as Linux 3.19 had", c.Label, c.Value)
			default:
				continue
			}
			claims = append(claims, Claim{ID: n.Key + "-" + c.Candidate, Text: text, Where: n.Source, Storage: storage, Check: value})
		}
	}
	return claims
}

// e15Boots has the claims on booting, and on the storages of the series. The
// lab lacks the kernels of the talk: claims about 3.12 and 3.19 are tested on
// the oldest and the newest kernel of the run. They are about boots to the login
// prompt, as the talk measured them.
func e15Boots() []Claim {
	const kernels, variations, support, supports = "slide “Boot time depending on kernel version”", "slide “Boot time variations depending on kernel version”",
		"slide “Boot time depending on support”", "slides “Read performances supports”, “Write performances supports”"
	const follows = "its speeds, which are those of its class"
	varies := Claim{ID: "boot-variation", Text: "boots of ext4 and XFS vary more than others'", Where: variations,
		Contradicted: "“EXT4 and XFS variations makes them less deterministic”: the same slide has less than 0.3 % for all but ext4 in Linux 3.19, XFS included",
		Check:        NoiseCheck{Of: []string{"login"}, Candidates: []string{e15Ext4, e15Xfs}, Than: []string{e15Btrfs, e15F2fs, e15Nilfs2}, Low: 1}}
	claims := []Claim{
		{ID: "boot-gain", Text: "a newer kernel boots much faster (at least 10 %; from Linux 3.12 to 3.19 in the talk)", Where: kernels,
			Check: KernelsCheck{Candidates: e15Rows, High: 1 / 1.1}},
		{ID: "boot-gap", Text: "with a newer kernel the others come closer to ext4 in booting", Where: kernels,
			Check: KernelsCheck{Candidates: e15Rows[1:], Base: e15Ext4, High: 1}},
		varies,
		{ID: "boot-support", Text: "booting takes about as long from each of the two cards and the eMMC (25 % either way)", Where: support, At: "claims",
			Check: AcrossCheck{Column: "login", On: e15First, Over: []string{e15Second, e15Emmc}, Candidates: e15Rows, Low: 0.8, High: 1.25}},
		e15Untested("samsung", "F2FS has no advantage on a card from Samsung, its author", supports, "the claim is about the controller of one real card"),
	}
	for _, column := range []string{"read-4m-direct", "write-4m-direct"} {
		claims = append(claims, Claim{ID: "same-cards-" + column, Text: "both SD cards show about the same figures (25 % either way): " + column, Where: supports, Follows: follows, At: "claims",
			Check: AcrossCheck{Column: column, On: e15First, Over: []string{e15Second}, Candidates: e15Rows, Low: 0.8, High: 1.25}})
	}
	for _, fs := range e15Rows {
		limit, text := 0.003, "less than 0.3 %"
		if fs == e15Ext4 {
			limit, text = 0.01, "at most 1 %"
		}
		claims = append(claims, Claim{ID: "boot-spread-" + fs, Text: "boots of " + fs + " vary by " + text + " (Linux 3.19; the longest of five over the shortest)", Where: variations, At: "claims",
			Check: ValueCheck{Column: "boot-spread", Candidate: fs, High: limit}})
	}
	return claims
}
