package recommend

import "strings"

// Profile is a named set of needs and weights.
type Profile struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Needs   []Need   `json:"needs"`
	Weights []Weight `json:"weights"`
}

// Profiles are all of them, in the order of lists. Their weights name measures
// of several studies: measures that the runs at hand lack do not count, and the
// answer says so.
var Profiles = []Profile{
	profile("boot-medium", "boots a device, reads quickly, and survives power loss",
		"power-loss-safe", "bootlin-2023/boot=4 elc-2015/boot=4 read=2 space=1"),
	profile("logging-device", "writes small records all day and survives power loss",
		"read-write power-loss-safe", "write=2 seq-write=1 write-4k-buffered=2 randwrite-4k-buffered=1 seq-create=1 block-write=1"),
	profile("database", "reads and writes small blocks at random and relies on fsync",
		"read-write power-loss-safe", "randwrite-4k-direct=3 randread-4k-direct=2 mixed-random-direct=2 seeks=2"),
	profile("camera", "records long streams, plays them back and deletes them",
		"read-write", "seq-write=4 seq-read=1 delete=1 write-4m-buffered=4 read-4m-buffered=1 block-write=4 block-read=1"),
	profile("developer-disk", "holds source trees that are copied, built, searched and deleted",
		"read-write power-loss-safe owners symlinks case-sensitive",
		"write=2 read=2 read-write=2 delete=1 space=1 small-write=3 small-pipe=3 large-write=1 large-pipe=1"),
	profile("update-image", "is sent over the air as an image, written once and read for years",
		"read-only", "space=3 read=2 bootlin-2023/boot=1 flash=1"),
}

// ProfileByName finds a profile.
func ProfileByName(name string) (Profile, bool) {
	for _, p := range Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// profile builds a profile from words that a test checks against the list of
// needs and the keys of studies.
func profile(name, about, needs, weights string) Profile {
	p := Profile{Name: name, About: about}
	for _, w := range strings.Fields(needs) {
		p.Needs = append(p.Needs, Need{Name: w})
	}
	for _, w := range strings.Fields(weights) {
		if one, err := ParseWeight(w); err == nil {
			p.Weights = append(p.Weights, one)
		}
	}
	return p
}
