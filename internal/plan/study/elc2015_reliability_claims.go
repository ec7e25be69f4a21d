package study

import (
	"slices"

	"whichfs/internal/fault"
)

// e15Corrupted are the cases that represent the published ones: all writes
// corrupted from an instant on, and alternately corrupted and good.
func e15Corrupted() []string {
	var cases []string
	for _, f := range e15Faults[:2] {
		cases = append(cases, f.phase+", "+e15One, f.phase+", "+e15Many)
	}
	return cases
}

// e15Sometimes claims that at least one iteration of the cases had the outcome.
func e15Sometimes(candidate string, cases []string, outcomes ...fault.Outcome) FaultCheck {
	return FaultCheck{Candidates: []string{candidate}, Cases: cases, Outcomes: e15Keys(outcomes), Any: true}
}

// e15Never claims that no iteration of the cases had one of the outcomes.
func e15Never(candidates, cases []string, outcomes ...fault.Outcome) FaultCheck {
	return FaultCheck{Candidates: candidates, Cases: cases, Outcomes: e15Keys(outcomes)}
}

// e15Share claims a share of the iterations.
func e15Share(candidate string, cases []string, metric string, low, high float64) FaultCheck {
	return FaultCheck{Candidates: []string{candidate}, Cases: cases, Metric: metric, Low: low, High: high}
}

// e15Ever claims that at least one iteration counts in the metric.
func e15Ever(candidate string, cases []string, metric string) FaultCheck {
	return FaultCheck{Candidates: []string{candidate}, Cases: cases, Metric: metric, Any: true}
}

func e15Keys(outcomes []fault.Outcome) (keys []string) {
	for _, o := range outcomes {
		keys = append(keys, o.Key())
	}
	return keys
}

// e15Outcomes selects outcomes.
func e15Outcomes(is func(fault.Outcome) bool) (keys []string) {
	for _, o := range fault.Outcomes {
		if is(o) {
			keys = append(keys, o.Key())
		}
	}
	return keys
}

// e15ReliabilityClaims are the findings of the talk's second half, in our
// words. Where it gives no figure the limits are ours, and the text states
// them.
func e15ReliabilityClaims() []Claim {
	room := Claim{ID: "room-btrfs", Where: "slide “BTRFS extra cont'd”", Check: RoomCheck{Candidate: e15Btrfs, Cases: []string{e15RoomOne, e15RoomMany, e15RoomAfter}, Low: 0.05},
		Text: "because of its structure, Btrfs cannot reliably show its space to traditional tools: what statfs calls available is off by at least 5 % of what fits"}
	return append(slices.Concat(e15CutClaims(), e15CorruptionClaims()), room)
}

// e15CutClaims are those on power cuts. No claim on what never happens can be
// decided by the cuts of a quick run.
func e15CutClaims() []Claim {
	const async, sync, principle = "slide “Corruption of the filesystem mounted async”", "slide “Corruption of the filesystem mounted sync”", "slide “Principle XFS”"
	cuts := []string{e15CutAsync, e15CutSync}
	claim := func(id, text, where string, k FaultCheck) Claim {
		return Claim{ID: "cut-" + id, Text: text, Where: where, Check: k, At: "claims"}
	}
	xfs := claim("xfs", "XFS handles power loss badly: promised data is lost, or it needs a manual check", principle,
		FaultCheck{Candidates: []string{e15Xfs}, Cases: cuts, Any: true,
			Outcomes: e15Outcomes(func(o fault.Outcome) bool { return !o.Kept() || o == fault.NeedsCheck })})
	xfs.Contradicted = "“Does not seem to be handling power loss well”: after 226 cuts of each kind “no filesystem ever got corrupted enough to require fsck”, XFS included"
	return []Claim{
		claim("journal", "after power cuts ext4, mounted async, sometimes has to replay its journal", async,
			e15Ever(e15Ext4, []string{e15CutAsync}, fault.Replayed)),
		claim("fsck", "after power cuts no filesystem is damaged so badly that it needs a manual check: each mounts, and then its check finds nothing", async+", "+sync,
			FaultCheck{Candidates: e15Rows, Cases: cuts, Outcomes: e15Keys([]fault.Outcome{fault.NeedsCheck, fault.Unmountable}), Metric: fault.CheckDirty}),
		claim("f2fs", "after power cuts F2FS, mounted sync, nearly always has to repair something by itself (at least nine times in ten)", sync,
			e15Share(e15F2fs, []string{e15CutSync}, fault.Replayed, 0.9, 1)),
		claim("btrfs", "after power cuts Btrfs, mounted sync, seldom shows errors (3 times in 226; at most 5 % count as agreement)", sync,
			e15Share(e15Btrfs, []string{e15CutSync}, fault.Complained, 0, 0.05)),
		xfs,
	}
}

// e15CorruptionClaims are those on corrupted writes.
func e15CorruptionClaims() []Claim {
	const files, fatal = "slides “Detection/recovery of corrupted files”", "slide “Fatal corruptions”"
	const memory = "its disks in memory, which take no time"
	corrupted := e15Corrupted()
	var all []Claim
	claim := func(id, text, where string, k Check) *Claim {
		all = append(all, Claim{ID: "corrupt-" + id, Text: text, Where: where, Check: k})
		return &all[len(all)-1]
	}
	claim("ext4-mount", "with corrupted writes ext4 often does not mount without a check (at most half of the time)", files,
		e15Share(e15Ext4, corrupted, fault.Mounted, 0, 0.5))
	claim("ext4-files", "with corrupted writes ext4 may leave files empty or full of zeros", files,
		e15Sometimes(e15Ext4, corrupted, fault.Truncated, fault.Zeroed))
	for _, fs := range []string{e15Ext4, e15Btrfs, e15F2fs} {
		claim(fs+"-read-only", "with corrupted writes "+fs+" may become read-only", files, e15Ever(fs, corrupted, fault.Stopped))
	}
	claim("btrfs-mounts", "with corrupted writes Btrfs mounts (at least half of the time)", files,
		e15Share(e15Btrfs, corrupted, fault.Mounted, 0.5, 1))
	claim("btrfs-immediately", "with corrupted writes Btrfs mounts immediately (within a second in the mean)", files,
		FaultTime{Candidate: e15Btrfs, Cases: corrupted, High: 1}).Follows = memory
	claim("btrfs-errors", "with corrupted writes Btrfs may return errors for files", files, e15Sometimes(e15Btrfs, corrupted, fault.IOError))
	claim("btrfs-loses", "with corrupted writes Btrfs may lose files", files, e15Sometimes(e15Btrfs, corrupted, fault.Lost))
	claim("btrfs-runs", "with corrupted writes Btrfs keeps running: it neither hangs nor stops the kernel", files, e15Never([]string{e15Btrfs}, corrupted, fault.Hang, fault.Died))
	claim("btrfs-beyond", "with corrupted writes Btrfs may be beyond repair", files, e15Sometimes(e15Btrfs, corrupted, fault.Unmountable))
	claim("btrfs-detects", "Btrfs detects corruption best: it has the fewest losses without an error", files,
		FaultBest{Candidate: e15Btrfs, Among: e15Rows, Cases: corrupted, Outcomes: e15Outcomes(fault.Outcome.Silent)})
	claim("f2fs-robust", "F2FS is the most robust against corruption: it mounts without repair most often", files,
		FaultBest{Candidate: e15F2fs, Among: e15Rows, Cases: corrupted, Metric: fault.Mounted, Most: true})
	claim("f2fs-minutes", "with corrupted writes F2FS takes up to several minutes to mount (at least one)", files,
		FaultTime{Candidate: e15F2fs, Cases: corrupted, Low: 60, Longest: true}).Follows = memory
	for _, fs := range []string{e15F2fs, e15Nilfs2} {
		claim(fs+"-recovers", "with corrupted writes "+fs+" recovers most of the data by itself: the files are there, with corrupted bytes (at least half of the time)", files,
			FaultCheck{Candidates: []string{fs}, Cases: corrupted, High: 0.5,
				Outcomes: e15Outcomes(func(o fault.Outcome) bool { return o >= fault.NeedsCheck && o != fault.Wrong })})
		claim(fs+"-wrong", "with corrupted writes "+fs+" may return wrong bytes without an error", files, e15Sometimes(fs, corrupted, fault.Wrong))
	}
	claim("xfs-mounts", "with corrupted writes XFS sometimes recovers by itself: it mounts", files, e15Ever(e15Xfs, corrupted, fault.Mounted))
	claim("xfs-truncates", "with corrupted writes XFS may cut files", files, e15Sometimes(e15Xfs, corrupted, fault.Truncated))
	claim("xfs-freezes", "with corrupted writes XFS may freeze: a call does not return", files, e15Sometimes(e15Xfs, corrupted, fault.Hang))
	claim("xfs-repair", "the repair of XFS may remove files, with its most aggressive option", files,
		e15Ever(e15Xfs, corrupted, fault.AfterPrefix+fault.Lost.Key()))
	claim("nilfs2-mount", "with corrupted writes NILFS2 may not mount at all", files, e15Sometimes(e15Nilfs2, corrupted, fault.Unmountable))
	claim("nilfs2-hangs", "with corrupted writes NILFS2 may hang when it is unmounted", files, e15Sometimes(e15Nilfs2, corrupted, fault.Hang))
	claim("fatal", "only corrupted writes are fatal: after dropped or refused ones every filesystem mounts, if need be after a repair", fatal,
		e15Never(e15Rows, e15Missing(), fault.Unmountable))
	published, others := e15Cells()
	claim("fatal-zero", "writing 0x00 in place of first bytes can be fatal: a filesystem no longer mounts, not even after a repair", fatal,
		FaultCheck{Candidates: e15Rows, Cases: published, Outcomes: e15Keys([]fault.Outcome{fault.Unmountable}), Any: true}).At = "claims"
	claim("fatal-only", "no other corruption is fatal: neither other bytes nor other places, and none of what is read", fatal,
		e15Never(e15Rows, others, fault.Unmountable)).At = "claims"
	return all
}

// e15Cells are the cases of the matrix of corruption: those that the talk calls
// fatal, and the others.
func e15Cells() (published, others []string) {
	for _, c := range e15Spots() {
		if c.published() {
			published = append(published, c.phase())
		} else {
			others = append(others, c.phase())
		}
	}
	return published, others
}

// e15Missing are the cases in which writes did not reach the storage.
func e15Missing() []string {
	var cases []string
	for _, f := range e15Faults[2:] {
		cases = append(cases, f.phase+", "+e15One, f.phase+", "+e15Many)
	}
	return cases
}
