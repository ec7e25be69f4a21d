// Package generated makes trees like those that it has profiles of, of any size and the same bytes on every machine.
package generated

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/plan/tree"
	"whichfs/internal/sys/units"
)

// dot-git is that of a repository with the sources of Go 1.26: two packs of its library and its
// commands, and its tests as loose objects.
//
//go:generate go run ../../../host/dataset/record profiles debian-armhf kernel-source build-large build-small
//go:embed profiles/*.json
var profileFiles embed.FS

// Prefix begins the names of generated data sets: gen:PROFILE[,SIZE[,seed=N]].
const Prefix = "gen:"

// generatorVersion counts code changes that alter the generated data.
const generatorVersion = 1

// Profiles returns the profiles that come with whichfs, by name.
func Profiles() ([]Profile, error) {
	names, err := profileFiles.ReadDir("profiles")
	if err != nil {
		return nil, err
	}
	var out []Profile
	for _, n := range names {
		text, err := profileFiles.ReadFile(path.Join("profiles", n.Name()))
		if err != nil {
			return nil, err
		}
		p, err := parseProfile(text)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", n.Name(), err)
		}
		out = append(out, p)
	}
	return out, nil
}

// About describes a profile's trees in a line.
func (p Profile) About() string {
	return fmt.Sprintf("generated without downloads: a tree like %s, of any size (gen:%s,50M); by default %d files, %s",
		p.Name, p.Name, p.Files, units.Value(float64(p.Bytes), "B"))
}

// Tree is a generated data set.
type Tree struct {
	Profile Profile
	Size    int64 // B
	Seed    uint64
}

// Parse parses a name. The default size is that of the tree from which the profile was recorded; the default seed is 1.
func Parse(name string) (Tree, error) {
	words := strings.Split(strings.TrimPrefix(name, Prefix), ",")
	t := Tree{Seed: 1}
	all, err := Profiles()
	if err != nil {
		return t, err
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
		if p.Name == words[0] {
			t.Profile = p
		}
	}
	if t.Profile.Name == "" {
		return t, fmt.Errorf("there is no profile %q; use %s", words[0], strings.Join(known, ", "))
	}
	t.Size = t.Profile.Bytes
	for i, w := range words[1:] {
		value, isSeed := strings.CutPrefix(w, "seed=")
		switch {
		case isSeed:
			if t.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return t, fmt.Errorf("seed %q: write a whole number, as in seed=7", value)
			}
		case i == 0:
			if t.Size, err = media.ParseSize(w); err != nil {
				return t, err
			}
		default:
			return t, fmt.Errorf("%q is not valid; write gen:PROFILE,SIZE,seed=N, as in gen:%s,50M,seed=7", w, words[0])
		}
	}
	if t.Size < leastGenerated || t.Size > mostGenerated {
		return t, fmt.Errorf("a size of %s: it must be between %s and %s", media.FormatSize(t.Size), media.FormatSize(leastGenerated), media.FormatSize(mostGenerated))
	}
	return t, nil
}

// File is the archive's name in the cache; it changes with the profile.
func (t Tree) File() (string, error) {
	text, err := json.Marshal(t.Profile)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, generatorVersion))
	return fmt.Sprintf("gen-%s-%s-%d-%s.tar", t.Profile.Name, media.FormatSize(t.Size), t.Seed, hex.EncodeToString(sum[:6])), nil
}

// Room is about how long the archive is, in bytes: names, and padding to whole blocks, add to the contents.
func (t Tree) Room() int64 {
	names := int64(t.Profile.Files + t.Profile.Dirs + t.Profile.Links)
	return t.Size + scaled(names, t.Size, t.Profile.Bytes)*3*tree.Block
}
