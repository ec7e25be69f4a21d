// Package storetest fills results stores with made-up runs of a given size, for
// tests and benchmarks. The figures are plausible and always the same.
package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Shape is the size of one run.
type Shape struct {
	Candidates int
	Rounds     int
	// Phases per trial and metrics per phase: their product is the number of
	// measurements of a trial.
	Phases, Metrics int
}

// Measurements is the number of figures of a run of this shape.
func (s Shape) Measurements() int { return s.Candidates * s.Rounds * s.Phases * s.Metrics }

// Usual has the shape of an ordinary run with 10,080 measurements.
func Usual() Shape { return Shape{Candidates: 12, Rounds: 3, Phases: 14, Metrics: 20} }

// Large has the shape of a run with 252,000 measurements.
func Large() Shape { return Shape{Candidates: 12, Rounds: 75, Phases: 14, Metrics: 20} }

// Fill creates the store at path, or adds to it, and stores the given number of
// runs, each in one transaction. Runs are named "fill-0001" and so on.
func Fill(path string, runs int, shape Shape) error {
	s, err := store.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	there, err := s.Runs()
	if err != nil {
		return err
	}
	for i := range runs {
		number := len(there) + i + 1
		run, trials := Run(fmt.Sprintf("fill-%04d", number), shape, uint64(number))
		if err := s.Import(run, len(trials), trials); err != nil {
			return err
		}
	}
	return s.Close()
}

// Years adds the given number of runs to a store, made as a lab makes them over the years: on four
// machines with five storages each, under one kernel after the other, a few with labels.
func Years(s *store.Store, runs int, shape Shape) error {
	machines := []string{"fake", "local", "ssh:root@board-1", "ssh:root@board-2"}
	storages := []string{"disk:1G", "sim:sd-basic,1G", "sim:emmc-fast,2G", "loop:1G", "/dev/mmcblk1"}
	began := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range runs {
		id := fmt.Sprintf("fill-%05d", i+1)
		run, trials := Run(id, shape, uint64(i+1))
		run.Machine, run.Storage = machines[i%len(machines)], storages[i/len(machines)%len(storages)]
		run.Started = began.Add(time.Duration(i) * 7 * time.Hour)
		run.Ended = run.Started.Add(time.Hour)
		run.Conditions[0].Value = fmt.Sprintf("%d.%d.%d", 5+i*3/runs, i*60/runs%20, i*600/runs%10)
		if err := s.Import(run, len(trials), trials); err != nil {
			return err
		}
		if i%100 == 0 {
			if err := s.AddRemark(id, "#nightly of the lab"); err != nil {
				return err
			}
		}
	}
	return nil
}

var candidates = []string{
	"ext4", "ext4 -O ^has_journal", "ext2", "xfs", "btrfs -m single", "btrfs -m single -o compress=lzo",
	"btrfs -m single -o compress=zstd", "f2fs", "f2fs -O extra_attr,inode_checksum,sb_checksum,compression",
	"nilfs2", "squashfs -comp xz", "erofs -zlz4hc",
}

// The names of the runs' study, so that a report of them computes all columns.
var phases = []string{
	"module-load", "mkfs", "first-mount", "fill", "space-filled", "mount", "read", "write", "read-write", "remove",
	"seq-write", "seq-read", "unmount", "check",
}

var metrics = []struct{ name, unit string }{
	{result.Wall, "s"}, {result.CPUUser, "s"}, {result.CPUSystem, "s"}, {result.CPUFilesystem, "s"},
	{result.CPUKernel, "s"}, {result.DeviceRead, "B"}, {result.DeviceWritten, "B"}, {result.DeviceReads, "1"},
	{result.DeviceWrites, "1"}, {result.DeviceFlushes, "1"}, {result.DeviceDiscards, "1"},
	{result.DeviceDiscard, "B"}, {result.DeviceBusy, "s"}, {result.MemFreeBefore, "B"},
	{result.MemFreeAfter, "B"}, {result.MemSlabBefore, "B"}, {result.MemSlabAfter, "B"},
	{result.SpaceUsed, "B"}, {result.AgentMallocs, "1"}, {result.DataBytes, "B"},
}

// pick returns the i-th name, numbered if there are not enough of them.
func pick(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s+%d", names[i%len(names)], i/len(names))
}

// Run makes up a finished run and its trials.
func Run(id string, shape Shape, seed uint64) (result.Run, []result.Trial) {
	random := rand.New(rand.NewPCG(seed, 1))
	start := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	plan, _ := json.Marshal(map[string]any{"rounds": shape.Rounds})
	run := result.Run{
		ID: id, Study: "bootlin-2023", Scale: "quick", Machine: "fake", Storage: "disk:1G", Seed: seed,
		Rounds: shape.Rounds, Margin: 0.1, Plan: plan, Version: "test", Started: start, State: result.Finished,
		Conditions: []result.Condition{
			{Group: "machine", Name: "kernel", Value: "6.1.0-56-amd64", Matters: true},
			{Group: "data", Name: "tree", Value: "sha256:0000", Matters: true},
		},
	}
	for c := range shape.Candidates {
		run.Candidates = append(run.Candidates, pick(candidates, c))
	}
	now := start
	var trials []result.Trial
	for round := range shape.Rounds {
		for place, c := range random.Perm(shape.Candidates) {
			t := trial(random, shape, c)
			t.Round, t.Place, t.Attempt, t.Candidate = round+1, place+1, 1, run.Candidates[c]
			t.Started, t.Ended = now, now.Add(9*time.Second)
			now = t.Ended.Add(time.Second)
			trials = append(trials, t)
		}
	}
	run.Ended = now
	run.Active = now.Sub(start).Seconds()
	return run, trials
}

func trial(random *rand.Rand, shape Shape, candidate int) result.Trial {
	t := result.Trial{
		Outcome: result.Done, Overhead: 1 + random.Float64(),
		Notes:   []result.Note{{Phase: "mount", Level: result.Info, Text: "a line of the kernel"}},
		Options: []result.Option{{Text: "compress=lzo", State: result.InForce, Evidence: "/proc/self/mountinfo shows it"}},
	}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	for p := range shape.Phases {
		for k := range shape.Metrics {
			m := result.Measurement{Phase: pick(phases, p), Metric: pick(names, k), Unit: metrics[k%len(metrics)].unit}
			switch m.Unit {
			case "s":
				m.Value = float64(1+candidate) * (1 + 0.1*random.Float64())
			default:
				m.Value = float64(random.IntN(1 << 28))
			}
			if m.Metric == result.AgentMallocs {
				m.Value = 0
			}
			if m.Metric == result.CPUFilesystem && candidate%3 == 0 {
				m.Value, m.Absent = 0, "this filesystem has no kernel threads of its own"
			}
			t.Measurements = append(t.Measurements, m)
		}
	}
	return t
}
