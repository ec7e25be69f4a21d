package study

import (
	"fmt"

	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// FioName is the name of a study made from a fio job file.
const FioName = "fio"

// FromFio makes a study from one fio job file, called name, which runs
// unchanged on every filesystem. The text must have passed fio.Check. Only the
// scenario and the storage depend on the text: reports of a run find the study
// by its name alone.
func FromFio(name, text string) Study {
	title := "A fio job"
	if name != "" {
		title += ": " + name
	}
	spec := fmt.Sprintf("sim:sd-basic,%dG", fioStorage(text))
	scale := Scale{
		Candidates: []string{"ext4", "xfs", "btrfs", "f2fs", "nilfs2"},
		Rounds:     3, StepLimit: 7200, RAM: "ram:1G",
	}
	return Study{
		Name: FioName, Title: title, Source: "the user's own job file",
		Scales:   map[string]Scale{"quick": scale, "full": scale},
		Storages: []Storage{{Key: "sd", Label: "SD card", Specs: map[string]string{"quick": spec, "full": spec}}},
		Scenario: func(readOnly bool, _ Scale) scenario.Scenario {
			if readOnly {
				return nil // fio could neither write nor find anything
			}
			return fioScenario(text)
		},
		Columns: fioColumns(),
	}
}

// fioStorage is the size of the storage for a job, in GiB: twice the size of
// its files, to leave room for the filesystems' own structures, as a power of
// two, and at most the size of the simulated card.
func fioStorage(text string) int64 {
	const gib, most = 1 << 30, 16
	volume := int64(0)
	if f, err := fio.Parse(text); err == nil {
		volume, _ = f.Volume()
	}
	n := int64(1)
	for n < most && n*gib/2 < volume {
		n *= 2
	}
	return n
}

func fioScenario(text string) scenario.Scenario {
	step := scenario.Step{Work: "fio", Phase: "fio", Dir: "fio", Job: text}
	if f, err := fio.Parse(text); err == nil {
		step.Size, _ = f.Volume()
	}
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		step,
		{Work: "space", Phase: "space"},
		{Work: "unmount", Phase: "unmount"},
		{Work: "check", Phase: "check"},
	}
}

func fioColumns() []Column {
	column := func(name, key, unit, metric, about string) Column {
		return Column{Name: name, Key: key, Unit: unit, Terms: []Term{{"fio", metric}}, About: about}
	}
	all := column("Time per GiB", "gib", "s", result.FioAll+result.FioGiB, "time of 1 GiB at the total bandwidth of all jobs")
	all.Uses = []string{"read-write"}
	run := column("Duration", "time", "s", result.FioTime, "from the first request of the jobs to the last; a job with a fixed runtime always takes that time")
	run.Per, run.Extra = result.DataBytes, true
	cpu := Column{Name: "Processor", Key: "cpu", Unit: "s", Extra: true, Terms: []Term{{"fio", result.FioUser}, {"fio", result.FioSystem}},
		About: "user and system time of the jobs, by fio's own account"}
	beside := []Column{
		run, cpu,
		column("Bus busy", "busy", "s", result.DeviceBusy, "time in which the device had a request in flight"),
		column("Whole program", "wall", "s", result.Wall, "fio from its start until the filesystem reports that everything is on storage"),
		column("Space", "space", "B", result.SpaceUsed, "used space after the jobs, as the filesystem itself counts it"),
	}
	beside[4].Terms[0].Phase = "space"
	for _, name := range []string{"mkfs", "mount", "unmount", "check"} {
		c := column(map[string]string{"mkfs": "Make", "mount": "Mount", "unmount": "Unmount", "check": "Check"}[name], name, "s", result.Wall, "the step of that name")
		c.Terms[0].Phase = name
		beside = append(beside, c)
	}
	for i := range beside {
		beside[i].Extra = true
	}
	return append([]Column{
		all,
		column("Reading, per GiB", "read", "s", result.FioRead+result.FioGiB, "time of 1 GiB at the read bandwidth; absent if the jobs read nothing"),
		column("Writing, per GiB", "write", "s", result.FioWrite+result.FioGiB, "time of 1 GiB at the write bandwidth; absent if the jobs write nothing"),
		column("Latency, median", "p50", "s", result.LatP50, "upper bound for half of the requests, from the end of their submission"),
		column("Latency, 99 %", "p99", "s", result.LatP99, "upper bound for 99 of 100 requests"),
		column("Latency, longest", "max", "s", result.LatMax, "the longest of all requests"),
	}, beside...)
}
