package dataset

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/units"
	"whichfs/internal/sys/whole"
)

// dot-git is that of a repository with the sources of Go 1.26: two packs of its library and its
// commands, and its tests as loose objects.
//
//go:generate go run ./record profiles debian-armhf kernel-source build-large build-small
//go:embed profiles/*.json
var profileFiles embed.FS

// Generated data sets are named gen:PROFILE[,SIZE[,seed=N]].
const generatedPrefix = "gen:"

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

// about returns a profile's line in List.
func (p Profile) about() string {
	return fmt.Sprintf("generated without downloads: a tree like %s, of any size (gen:%s,50M); by default %d files, %s",
		p.Name, p.Name, p.Files, units.Value(float64(p.Bytes), "B"))
}

// request is the parsed name of a generated data set.
type request struct {
	profile Profile
	size    int64 // B
	seed    uint64
}

// parseGenerated parses gen:PROFILE[,SIZE[,seed=N]]. The default size is that
// of the tree from which the profile was recorded; the default seed is 1.
func parseGenerated(name string) (request, error) {
	words := strings.Split(strings.TrimPrefix(name, generatedPrefix), ",")
	r := request{seed: 1}
	all, err := Profiles()
	if err != nil {
		return r, err
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
		if p.Name == words[0] {
			r.profile = p
		}
	}
	if r.profile.Name == "" {
		return r, fmt.Errorf("there is no profile %q; use %s", words[0], strings.Join(known, ", "))
	}
	r.size = r.profile.Bytes
	for i, w := range words[1:] {
		value, isSeed := strings.CutPrefix(w, "seed=")
		switch {
		case isSeed:
			if r.seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return r, fmt.Errorf("seed %q: write a whole number, as in seed=7", value)
			}
		case i == 0:
			if r.size, err = media.ParseSize(w); err != nil {
				return r, err
			}
		default:
			return r, fmt.Errorf("%q is not valid; write gen:PROFILE,SIZE,seed=N, as in gen:%s,50M,seed=7", w, words[0])
		}
	}
	if r.size < leastGenerated || r.size > mostGenerated {
		return r, fmt.Errorf("a size of %s: it must be between %s and %s", media.FormatSize(r.size), media.FormatSize(leastGenerated), media.FormatSize(mostGenerated))
	}
	return r, nil
}

// file is the archive's name in the cache; it changes with the profile.
func (r request) file() (string, error) {
	text, err := json.Marshal(r.profile)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, generatorVersion))
	return fmt.Sprintf("gen-%s-%s-%d-%s.tar", r.profile.Name, media.FormatSize(r.size), r.seed, hex.EncodeToString(sum[:6])), nil
}

// recipe returns a generated data set's recipe for Get.
func (r request) recipe(name string) (recipe, error) {
	file, err := r.file()
	if err != nil {
		return recipe{}, err
	}
	judge := func(d scenario.Data) scenario.Data {
		d.Notes = []string{fmt.Sprintf("the data set %s is generated: its sizes, names and compressibility are like those of %s, its contents are meaningless", name, r.profile.Name)}
		return d
	}
	make := func(ctx context.Context, path string, progress func(string)) (scenario.Data, error) {
		progress(fmt.Sprintf("generating data set %s: %s", name, units.Value(float64(r.size), "B")))
		if err := r.fits(filepath.Dir(path)); err != nil {
			return scenario.Data{}, err
		}
		var info Info
		err := whole.Write(path, func(f *os.File) (err error) {
			info, err = Generate(ctx, io.Writer(f), r.profile, r.size, r.seed)
			return err
		})
		if err != nil {
			return scenario.Data{}, err
		}
		d := info.data(name, path)
		return d, keep(d)
	}
	return recipe{file, make, judge}, nil
}

// fits checks for room before anything is written: names, and padding to whole
// blocks of the archive, add to the contents.
func (r request) fits(dir string) error {
	room, err := free(dir)
	if err != nil {
		return err
	}
	if need := r.need(); need > room {
		return fmt.Errorf("its archive takes about %s and %s has %s left; set WHICHFS_CACHE to another directory",
			units.Value(float64(need), "B"), dir, units.Value(float64(room), "B"))
	}
	return nil
}

// need is the approximate length of the archive, in bytes.
func (r request) need() int64 {
	names := int64(r.profile.Files + r.profile.Dirs + r.profile.Links)
	return r.size + scaled(names, r.size, r.profile.Bytes)*3*block
}
