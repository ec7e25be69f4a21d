package filesystem

import (
	"strings"
)

// repairs is a Repair of argument vectors to which the device is added.
func repairs(vectors ...[]string) func(string) [][]string {
	return func(device string) [][]string {
		out := make([][]string, len(vectors))
		for i, v := range vectors {
			out[i] = append(append([]string{}, v...), device)
		}
		return out
	}
}

// mended is the result of a tool that repaired; the first line with one of the
// marks says what.
func mended(status int, output string, marks ...string) RepairResult {
	return RepairResult{WasMended, dirty(status, output, marks...).Reason}
}

// notMended is the result of a tool that could not.
func notMended(status int, output string, marks ...string) RepairResult {
	return RepairResult{NotMended, dirty(status, output, marks...).Reason}
}

// mendBroken is the result of a tool that failed itself.
func mendBroken(status int, output string) RepairResult {
	return RepairResult{MendBroken, broken(status, output).Reason}
}

func nothingToMend() RepairResult { return RepairResult{Mended: NothingToMend} }

// extRepair: -y answers every question, -f checks what is marked clean.
var extRepair = repairs([]string{"e2fsck", "-f", "-y"})

// readExtRepair reads the bits of e2fsck(8): 1 corrected, 2 corrected and the
// system is to be rebooted, 4 errors left, 8 operational error, 16 usage, 32
// cancelled, 128 library. It corrects a little with status 0 as well.
func readExtRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && !strings.Contains(output, "? yes"):
		return nothingToMend()
	case status >= 0 && status <= 3:
		return mended(status, output, "? yes", "Superblock invalid", "recovering journal")
	case status > 0 && status&^15 == 0 && status&4 != 0:
		return notMended(status, output, "UNEXPECTED INCONSISTENCY", "Filesystem still has errors", "? yes")
	case strings.Contains(output, "Superblock invalid"):
		return notMended(status, output, "Bad magic number", "Superblock invalid")
	}
	return mendBroken(status, output)
}

// xfsRepair: xfs_repair refuses a log that was not replayed, and says what to do:
// mount it, and where that fails, -L, "the most aggressive" one, which destroys
// the log (xfs_repair(8)). With -e it tells by its status that it corrected.
var xfsRepair = repairs([]string{"xfs_repair", "-e"}, []string{"xfs_repair", "-e", "-L"})

// readXfsRepair reads the exit status of xfs_repair(8): 0 done, 1 errors, 2 the
// log is dirty, 4 corrected (-e).
func readXfsRepair(status int, output string) RepairResult {
	marks := []string{"valuable metadata changes", "bad ", "CRC error", "corrupt", "moving disconnected", "would ", "Sorry", "couldn't"}
	switch {
	case status == 0 && !strings.Contains(output, "because the -L option was used"):
		return nothingToMend()
	case status == 0, status == 4:
		return mended(status, output, marks...)
	case status == 2:
		return RepairResult{NotMended, "the log holds changes that were not replayed"}
	case status > 0 && !cannotOpen(output) && strings.Contains(output, "Phase 1"):
		return notMended(status, output, marks...)
	}
	return mendBroken(status, output)
}

// btrfsRepair: btrfs-check(8) warns of --repair: "Do not use --repair unless you
// are advised to do so by a developer or an experienced user". What
// btrfs-rescue(8) has for filesystems that do not mount is no such danger: the
// superblock from its copies, and clearing a log that cannot be replayed.
var btrfsRepair = repairs([]string{"btrfs", "rescue", "super-recover", "-y"}, []string{"btrfs", "rescue", "zero-log"})

// readBtrfsRepair reads what btrfs-rescue(8) prints: super-recover gives 0 where
// all superblocks are valid and another status where it recovered one as well;
// zero-log names the log that it cleared, 0 for none.
func readBtrfsRepair(status int, output string) RepairResult {
	switch {
	case strings.Contains(output, "All supers are valid"), strings.Contains(output, "previous log_root 0,"):
		return nothingToMend()
	case status >= 0 && strings.Contains(output, "Recovered bad superblocks successful"), status == 0 && strings.Contains(output, "Clearing log"):
		return mended(status, output, "Recovered bad superblocks", "Clearing log")
	case cannotOpen(output) || status < 0 || status > 3:
		return mendBroken(status, output)
	}
	return notMended(status, output, "ERROR", "No valid Btrfs", "Failed to recover", "failed")
}

// readF2fsRepair: fsck.f2fs of f2fs-tools 1.15 ends with 0 or 1 where it came to
// its end, and with 255 where it gave up; its words tell the rest.
func readF2fsRepair(status int, output string) RepairResult {
	switch {
	case (status == 0 || status == 1) && strings.Contains(output, "Done") && (strings.Contains(output, "[ASSERT]") || strings.Contains(output, "[Fail]")):
		return mended(status, output, "[ASSERT]", "[Fail]")
	case status == 0 && strings.Contains(output, "Done"):
		return nothingToMend()
	case strings.Contains(output, "Magic Mismatch"), strings.Contains(output, "[ASSERT]"), strings.Contains(output, "Invalid"):
		return notMended(status, output, "[ASSERT]", "Can't find a valid", "Magic Mismatch", "Invalid")
	}
	return mendBroken(status, output)
}

// readJfsRepair reads the exit status of jfs_fsck(8): 0 nothing, 1 corrected, 2
// corrected and the system is to be rebooted, 4 errors left, 8 operational error,
// 16 usage. It replays its log as well, which no
// kernel does for it, and writes a new one (phase 9) where it could not.
func readJfsRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && strings.Contains(output, "is clean") && !strings.Contains(output, "Phase 9"):
		return nothingToMend()
	case status >= 0 && status <= 3 && strings.Contains(output, "Phase 1"):
		return mended(status, output, "Will clear", "ncorrect", "not a correct", "rrors detected", "error", "Phase 9")
	case status > 0 && status&^15 == 0 && status&4 != 0, strings.Contains(output, "does not describe a correct jfs"):
		return notMended(status, output, "Unrecoverable", "ncorrect", "not a correct", "does not describe", "rrors detected")
	}
	return mendBroken(status, output)
}

// reiserfsRepair: where --fix-fixable does not do, reiserfsck(8) wants
// --rebuild-tree, which asks a question that no option answers.
var reiserfsRepair = repairs([]string{"reiserfsck", "--fix-fixable", "-y", "-q"})

// readReiserfsRepair reads the exit status of reiserfsck(8): 0 nothing, 1
// corrected, which --fix-fixable of reiserfsprogs 3.6.27 always gives, 2 the
// system is to be rebooted, 4 fatal corruptions are left, 6 fixable ones, 8
// operational error, 16 usage.
func readReiserfsRepair(status int, output string) RepairResult {
	switch {
	case (status == 0 || status == 1) && strings.Contains(output, "No corruptions found"):
		return nothingToMend()
	case status >= 0 && status <= 2 && strings.Contains(output, "Checking internal tree"):
		return mended(status, output, "fixed", "corrected", "rewritten", "vpf-")
	case status == 4 || status == 6:
		return notMended(status, output, "found corruptions", "rebuild-sb", "Bad nodes", "vpf-")
	case strings.Contains(output, "Unknown code er3k"):
		return notMended(status, output, "Unknown code er3k")
	}
	return mendBroken(status, output)
}

// readVfatRepair reads fsck.fat(8), whose status 1 is of what it corrected, of
// what it could not, and of a device that it could not open: only at the end of
// its work does it count files and clusters.
func readVfatRepair(status int, output string) RepairResult {
	done := lineWith(output, " clusters") != ""
	switch {
	case status == 0:
		return nothingToMend()
	case status == 1 && done:
		return RepairResult{WasMended, dirty(status, fatFindings(output)).Reason}
	case status == 1 && !cannotOpen(output) && output != "":
		return RepairResult{NotMended, dirty(status, fatFindings(output)).Reason}
	}
	return mendBroken(status, output)
}

// readExfatRepair reads the exit status of fsck.exfat(8): 1 corrected, 4 errors
// left, 8 operational error, 16 usage.
func readExfatRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && strings.Contains(output, "clean"):
		return nothingToMend()
	case status == 0 || status == 1:
		return mended(status, output, "ERROR:", "orrupted", "Fix", "clean")
	case status == 4 || strings.Contains(output, "does not describe a valid exfat"):
		return notMended(status, output, "ERROR:", "does not describe", "orrupted")
	}
	return mendBroken(status, output)
}
