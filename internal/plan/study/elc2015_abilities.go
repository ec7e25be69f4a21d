package study

import (
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
)

// Elc2015Abilities tries the tools that the talk lists as extras of each filesystem: what can be
// done to one that holds files. It measures no times and has no claims: the talk lists tools and
// reports no result of them.
func Elc2015Abilities() Study {
	var all []string
	for _, fs := range filesystem.All {
		c := filesystem.Candidate{FS: fs.Name}
		if most, _ := fs.MaxSize(c); !fs.Raw && fs.NotMainline == "" && most >= e15MemorySize {
			all = append(all, fs.Name)
		}
	}
	scale := Scale{Candidates: all, Rounds: 1, StepLimit: 600, RAM: e15Memory, Memory: e15GuestMemory}
	return Study{
		Name: "elc-2015-abilities", Title: "Filesystem considerations for embedded devices: tools", Source: e15Talk,
		Untimed:  true,
		Scales:   map[string]Scale{"quick": scale, "claims": scale, "full": scale},
		Storages: []Storage{{Key: "memory", Label: "disks in memory", Specs: map[string]string{"quick": e15Memory, "claims": e15Memory, "full": e15Memory}}},
		Scenario: e15Abilities,
	}
}

// e15Abilities: each step is one ability, on a disk of its own.
func e15Abilities(bool, Scale) scenario.Scenario {
	var steps scenario.Scenario
	for _, a := range filesystem.Abilities {
		steps = append(steps, scenario.Step{Work: "ability", Phase: string(a.Name), Ability: string(a.Name)})
	}
	return steps
}
