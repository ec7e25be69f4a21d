package study

import (
	"fmt"
	"strings"

	"whichfs/internal/result"
)

// e15Groups are the groups of jobs in the charts of bus and processor use.
func e15Groups() []struct {
	key, name string
	phases    []string
} {
	type group = struct {
		key, name string
		phases    []string
	}
	groups := []group{{key: "read-direct", name: "reading, direct"}, {key: "read-buffered", name: "reading, buffered"},
		{key: "write-direct", name: "writing, direct"}, {key: "write-buffered", name: "writing, buffered"}}
	for _, c := range e15Matrix() {
		at := 0
		if !c.reads() {
			at = 2
		}
		if !c.direct {
			at++
		}
		groups[at].phases = append(groups[at].phases, c.phase())
	}
	return groups
}

func e15Terms(phases []string, metrics ...string) []Term {
	var terms []Term
	for _, p := range phases {
		for _, m := range metrics {
			terms = append(terms, Term{p, m})
		}
	}
	return terms
}

var e15Words = map[string]string{
	"randread": "Random read", "read": "Seq. read", "randwrite": "Random write", "write": "Seq. write",
	"4M": "4 MiB", "4k": "4 KiB",
}

func e15Columns() []Column {
	var all []Column
	uses := []string{"read-write"}
	for _, c := range e15Matrix() {
		about := "one thread of fio in blocks of " + e15Words[c.block] + " over several files, " + e15Through(c.direct)
		if !c.reads() {
			about += ", including an fsync at the end"
		}
		all = append(all, Column{Name: fmt.Sprintf("%s %s %s", e15Words[c.rw], e15Words[c.block], e15Through(c.direct)), Key: c.phase(), Unit: "s",
			Uses: uses, Terms: []Term{{c.phase(), result.FioTime}}, Per: result.DataBytes, About: about})
	}
	for _, step := range e15Mixed(e15Amount{published: true}) {
		words := strings.Split(step.Phase, "-")
		all = append(all, Column{Name: strings.Join([]string{"Mixed", words[1], words[2]}, " "), Key: step.Phase, Unit: "s", Uses: uses,
			Terms: []Term{{step.Phase, result.FioTime}}, Per: result.DataBytes,
			About: "four threads of fio that read and write at the same time, " + words[1] + ", " + words[2] + "; number and block sizes (4 KiB random, 64 KiB sequential) are not published"})
	}
	for i, step := range e15Mixed(e15Amount{published: true}) {
		alone := e15Alone(e15Amount{published: true})[i].Phase
		words := strings.Split(step.Phase, "-")
		all = append(all, Column{Name: strings.Join([]string{"Scaling", words[1], words[2]}, " "), Key: e15Scaling(step.Phase), Unit: "1", Extra: true,
			Terms: []Term{{step.Phase, result.FioTime}}, Over: []Term{{alone, result.FioTime}},
			About: "time of these four threads over that of one thread for the same data: less is better"})
	}
	all = append(all, e15Costs()...)
	for _, g := range e15Groups() {
		all = append(all,
			Column{Name: "Total, " + g.name, Key: "total-" + g.key, Unit: "s", Extra: true, Terms: e15Terms(g.phases, result.FioTime), About: "the four jobs of fio " + g.name + " together"},
			Column{Name: "Bus busy, " + g.name, Key: "busy-" + g.key, Unit: "s", Terms: e15Terms(g.phases, result.DeviceBusy),
				About: "time in which the device had a request in flight during these jobs"},
			Column{Name: "Processor, " + g.name, Key: "cpu-" + g.key, Unit: "s", Terms: e15Terms(g.phases, result.FioUser, result.FioSystem),
				About: "user and system time of these jobs, by fio's own account"},
			Column{Name: "Processor use, " + g.name, Key: "use-" + g.key, Unit: "1",
				Terms: e15Terms(g.phases, result.FioUser, result.FioSystem), Over: e15Terms(g.phases, result.FioTime),
				About: "that processor time as a share of the time of these jobs"})
	}
	requests := func(through string) Column {
		return Column{Name: "Requests, seq. read 4 KiB " + through, Key: "requests-" + through, Unit: "1", Extra: true, Per: result.DataBytes,
			Terms: []Term{{"read-4k-" + through, result.DeviceReads}}, About: "read requests that reached the device"}
	}
	return append(all, requests("direct"), requests("buffered"))
}

// e15Costs are the columns besides those of fio.
func e15Costs() []Column {
	uses := []string{"read-write"}
	wall := func(name, key, about string) Column {
		return Column{Name: name, Key: key, Unit: "s", Extra: true, Terms: []Term{{key, result.Wall}}, About: about}
	}
	mount := wall("Mount time", "mount", "mounting the filled and cleanly unmounted filesystem with cold caches; copies of the tree fill 60 % of its space, in a quick run 25 %")
	mount.Extra, mount.Uses = false, uses
	check := wall("Check", "check", "a check without repair of the filled filesystem after a clean unmount")
	check.Extra = false
	const watched = "38 GB of reading and writing by four threads of fio through the cache, in turns and in blocks of 64 KiB; " +
		"with --full a tenth of it (3.8 GB), with --claims all a hundredth (380 MB), in a quick run a thousandth (38 MB)"
	var longest []string
	for _, step := range e15Background(e15Amount{share: e15Most}) {
		longest = append(longest, step.Phase)
	}
	threads := func(name, key, metric, about string) Column {
		return Column{Name: name, Key: key, Unit: "s", Extra: key != "threads-cpu", Terms: e15Terms(longest, metric), Optional: longest[1:], About: about}
	}
	return []Column{
		mount,
		{Name: "Total space", Key: "total", Unit: "B", Level: true, Terms: []Term{{"space-empty", result.SpaceTotal}},
			About: "size of the filesystem by its own figures"},
		{Name: "Used when empty", Key: "empty", Unit: "B", Terms: []Term{{"space-empty", result.SpaceUsed}},
			About: "space that the empty filesystem counts as used; it excludes areas that the filesystem does not count"},
		{Name: "Kernel threads", Key: "threads", Unit: "1", Terms: []Term{{"threads", result.KernelThreads}},
			About: "kernel threads of the filesystem once it is mounted"},
		{Name: "Memory held", Key: "held", Unit: "B", Extra: true, Terms: []Term{{"threads", result.MemHeld}},
			About: "memory that the mounted filesystem keeps, including its module"},
		threads("Kernel threads' processor", "threads-cpu", result.CPUFilesystem,
			"processor time of the filesystem's own kernel threads during "+watched+"; absent if a filesystem has none"),
		threads("All kernel threads' processor", "threads-cpu-all", result.CPUKernel, "processor time of all of the kernel's threads meanwhile, those of its writeback and block layer included"),
		threads("Watched I/O", "threads-time", result.FioTime, "time of that reading and writing"),
		check,
		{Name: "Check, processor", Key: "check-cpu", Unit: "s", Terms: []Term{{"check", result.CPUUser}, {"check", result.CPUSystem}},
			About: "user and system time of that check"},
		{Name: "Boot", Key: "boot", Unit: "s", Terms: []Term{{e15Boot, result.BootRoot}},
			About: "from the kernel's first process to that of the root filesystem on the storage, including module and mount"},
		{Name: "Boot to login", Key: "login", Unit: "s", Terms: []Term{{e15Login, result.BootLogin}},
			About: "from the kernel's first process to the login prompt of BusyBox on the console of a root filesystem on the storage, as published; including module, mount, init and getty"},
		{Name: "Boot to init", Key: "boot-init", Unit: "s", Extra: true, Terms: []Term{{e15Login, result.BootInit}},
			About: "from the kernel's first process to the first action of that root filesystem's init"},
		{Name: "Spread of boots", Key: "boot-spread", Unit: "1", Extra: true, Terms: []Term{{e15Login, result.BootSpread}},
			About: "the longest of a trial's boots to the login prompt over the shortest, less 1; a quick run boots once"},
		{Name: "Kernel's start", Key: "boot-kernel", Unit: "s", Extra: true, Terms: []Term{{e15Boot, result.BootKernel}},
			About: "from the kernel's start to its first process: independent of the filesystem"},
		wall("Module load", "module-load", "loading the kernel module with its dependencies"),
		wall("Make", "mkfs", "making the empty filesystem"),
		wall("First mount", "first-mount", "mounting the new filesystem"),
		wall("Mount, empty", "mount-empty", "mounting the new filesystem again, cleanly unmounted and still empty, with cold caches"),
		{Name: "Mount, filled over empty", Key: "mount-growth", Unit: "1", Extra: true, Terms: []Term{{"mount", result.Wall}}, Over: []Term{{"mount-empty", result.Wall}},
			About: "how many times as long the filled filesystem takes to mount as the empty one"},
		wall("Fill", "fill", "filling a new filesystem with copies of the tree"),
		wall("Unmount", "unmount", "unmounting the filled filesystem"),
		wall("Offline image", "offline-image", "making the filesystem in a file, of the directory with the tree and without mounting it"),
		{Name: "Offline image, size", Key: "offline-size", Unit: "B", Extra: true, Terms: []Term{{"offline-image", result.ImageSize}},
			About: "what was written of that file, whose filesystem has 128 MiB and twice the tree"},
		wall("Offline image, flash", "offline-flash", "writing that file onto the storage, with what is empty of it"),
		wall("Offline image, mount", "offline-mount", "mounting it for the first time"),
		{Name: "Offline image, whole files", Key: "offline-whole", Unit: "1", Extra: true, Level: true, Terms: []Term{{"offline-compare", result.FilesWhole}},
			About: "files and links of the tree that are in it, byte by byte"},
	}
}
