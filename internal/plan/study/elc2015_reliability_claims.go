package study

import "whichfs/internal/fault"

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
	k := FaultCheck{Candidates: []string{candidate}, Cases: cases, Any: true}
	for _, o := range outcomes {
		k.Outcomes = append(k.Outcomes, o.Key())
	}
	return k
}

// e15ReliabilityClaims are the findings of the talk's second half, in our
// words. Where it gives no figure the limits are ours, and the text states
// them.
func e15ReliabilityClaims() []Claim {
	const async, sync, files = "slide “Corruption of the filesystem mounted async”", "slide “Corruption of the filesystem mounted sync”", "slides “Detection/recovery of corrupted files”"
	claim := func(id, text, where string, k FaultCheck) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: k}
	}
	corrupted := e15Corrupted()
	cuts := []string{e15CutAsync, e15CutSync}
	never := func(candidates, cases []string, outcomes ...fault.Outcome) FaultCheck {
		k := FaultCheck{Candidates: candidates, Cases: cases}
		for _, o := range outcomes {
			k.Outcomes = append(k.Outcomes, o.Key())
		}
		return k
	}
	share := func(candidate string, cases []string, metric string, low, high float64) FaultCheck {
		return FaultCheck{Candidates: []string{candidate}, Cases: cases, Metric: metric, Low: low, High: high}
	}
	return []Claim{
		claim("cut-journal", "after power cuts ext4, mounted async, sometimes has to replay its journal", async,
			FaultCheck{Candidates: []string{e15Ext4}, Cases: []string{e15CutAsync}, Metric: fault.Replayed, Any: true}),
		claim("cut-fsck", "after power cuts no filesystem is damaged so badly that it needs a manual check", async+", "+sync,
			never(e15Rows, cuts, fault.NeedsCheck, fault.Unmountable)),
		claim("cut-f2fs", "after power cuts F2FS, mounted sync, nearly always has to repair something by itself (at least nine times in ten)", sync,
			share(e15F2fs, []string{e15CutSync}, fault.Replayed, 0.9, 1)),
		// The limits are the 95 % confidence limits of 3 of 226.
		claim("cut-btrfs", "after power cuts Btrfs, mounted sync, shows errors 3 times in 226 (0.3 to 3.8 %)", sync,
			share(e15Btrfs, []string{e15CutSync}, fault.Complained, 0.003, 0.038)),
		claim("corrupt-ext4-mount", "with corrupted writes ext4 often does not mount without a check (at most half of the time)", files,
			share(e15Ext4, corrupted, fault.Mounted, 0, 0.5)),
		claim("corrupt-ext4-files", "with corrupted writes ext4 may leave files empty or full of zeros", files,
			e15Sometimes(e15Ext4, corrupted, fault.Truncated, fault.Zeroed)),
		claim("corrupt-btrfs-mounts", "with corrupted writes Btrfs mounts at once (at least half of the time)", files,
			share(e15Btrfs, corrupted, fault.Mounted, 0.5, 1)),
		claim("corrupt-btrfs-detects", "Btrfs detects corruption: it returns no wrong bytes without an error", files,
			never([]string{e15Btrfs}, corrupted, fault.Wrong)),
		claim("corrupt-btrfs-beyond", "with corrupted writes Btrfs may be beyond repair", files,
			e15Sometimes(e15Btrfs, corrupted, fault.Unmountable)),
		claim("corrupt-f2fs-robust", "F2FS is robust against corruption: it mounts (at least nine times in ten)", files,
			share(e15F2fs, corrupted, fault.Mounted, 0.9, 1)),
		claim("corrupt-f2fs-wrong", "with corrupted writes F2FS may return wrong bytes without an error", files,
			e15Sometimes(e15F2fs, corrupted, fault.Wrong)),
		claim("corrupt-xfs-mounts", "with corrupted writes XFS sometimes recovers by itself: it mounts", files,
			FaultCheck{Candidates: []string{e15Xfs}, Cases: corrupted, Metric: fault.Mounted, Any: true}),
		claim("corrupt-xfs-truncates", "with corrupted writes XFS may cut files", files,
			e15Sometimes(e15Xfs, corrupted, fault.Truncated)),
		claim("corrupt-xfs-stops", "with corrupted writes XFS may stop: it does not mount, takes no writes, or hangs", files,
			e15Sometimes(e15Xfs, corrupted, fault.ReadOnly, fault.NeedsCheck, fault.Unmountable, fault.Hang, fault.Died)),
		claim("corrupt-nilfs2-mount", "with corrupted writes NILFS2 may not mount at all", files,
			e15Sometimes(e15Nilfs2, corrupted, fault.Unmountable)),
		claim("corrupt-nilfs2-wrong", "with corrupted writes NILFS2 may return wrong bytes without an error", files,
			e15Sometimes(e15Nilfs2, corrupted, fault.Wrong)),
		claim("corrupt-nilfs2-hangs", "with corrupted writes NILFS2 may hang when it is unmounted", files,
			e15Sometimes(e15Nilfs2, corrupted, fault.Hang)),
	}
}
