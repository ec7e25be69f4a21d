package generated

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/squeeze"
	"whichfs/internal/plan/tree/texture"
)

// Profile describes the shape of a tree: enough to make a similar one of any size, without a byte
// of its contents. It contains only whole numbers, so that it is written and applied identically
// everywhere.
type Profile struct {
	Name string `json:"name"`
	// Of is the digest of the archive from which it was recorded.
	Of    string `json:"of"`
	Files int    `json:"files"` // regular files
	Bytes int64  `json:"bytes"` // in them
	Dirs  int    `json:"dirs"`  // below the top
	Links int    `json:"links"` // symbolic
	// Sizes of files: class c has those of 2^(c-1) to 2^c-1 bytes, class 0
	// the empty ones.
	Sizes []SizeClass `json:"sizes"`
	// FileDepths counts files by the number of directories above them,
	// DirDepths directories likewise.
	FileDepths []int `json:"file_depths"`
	DirDepths  []int `json:"dir_depths"`
	// FilesIn counts directories by the number of files in them, DirsIn by
	// the number of directories in them, in classes like those of Sizes.
	FilesIn []int `json:"files_in"`
	DirsIn  []int `json:"dirs_in"`
	// FileNames and DirNames count names by their length in bytes, in classes
	// of nameClass.
	FileNames []int `json:"file_names"`
	DirNames  []int `json:"dir_names"`
	// Textures are kinds of contents.
	Textures []Kind `json:"textures"`
	// Ratios are Btrfs's compression ratios of the tree, in thousandths;
	// see squeeze.Use.
	Ratios texture.Ratios `json:"ratios"`
	// Plain is how many thousandths it would store uncompressed, by
	// algorithm.
	Plain texture.Ratios `json:"plain"`
}

// SizeClass is a class of files.
type SizeClass struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Kind is contents of one compressibility.
type Kind struct {
	// UpTo is the size in bytes of the largest files of this kind; 0 is
	// for files of any size above the last one.
	UpTo int64 `json:"up_to,omitempty"`
	// Whole: a file is of this kind from beginning to end; otherwise parts
	// of 512 KiB are.
	Whole bool `json:"whole,omitempty"`
	// Refused: Btrfs would not try to compress it.
	Refused bool `json:"refused,omitempty"`
	// Bytes of this kind, in all files up to UpTo and above the previous
	// UpTo.
	Bytes int64 `json:"bytes"`
	// Block is the mean length of a compressed unit, in bytes.
	Block int `json:"block"`
	// Want are its target ratios, see texture.Fit.
	Want texture.Ratios `json:"want"`
	texture.Texture
}

// nameClass is the width of a class of name lengths, in bytes.
const nameClass = 3

// groups are the file sizes that separate kinds, in bytes: small files
// compress less than their contents would.
var groups = [...]int64{256, 1 << 10, 4 << 10, 16 << 10, squeeze.Block, 0}

// edges separate kinds of one group by zlib's ratio, in thousandths.
var edges = [...]int{60, 120, 180, 240, 300, 370, 450, 550, 700, incompressible}

// incompressible is the ratio, in thousandths, from which compression gains nothing.
const incompressible = 950

// groupOf is the index in groups of files of a size.
func groupOf(size int64) int {
	for i, top := range groups {
		if size <= top || top == 0 {
			return i
		}
	}
	return len(groups) - 1
}

// class returns the class of a number; see Profile.Sizes.
func class(n int64) int { return bits.Len64(uint64(n)) }

// parseProfile is strict: a profile with an unknown field would be applied
// wrongly.
func parseProfile(text []byte) (Profile, error) {
	var p Profile
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Profile{}, err
	}
	return p, p.check()
}

// check validates a profile that was read.
func (p Profile) check() error {
	if p.Files < 1 || p.Bytes < 1 || p.Dirs < 0 || p.Links < 0 || len(p.Textures) == 0 || len(p.Textures) > 200 {
		return errors.New("it describes no tree")
	}
	files := 0
	for c, k := range p.Sizes {
		low, high := int64(0), int64(0)
		if c > 0 {
			low, high = 1<<(c-1), 1<<c-1
		}
		if k.Files < 0 || c > 40 || k.Bytes < low*int64(k.Files) || k.Bytes > high*int64(k.Files) {
			return fmt.Errorf("%d files of %d bytes in the size class %d", k.Files, k.Bytes, c)
		}
		files += k.Files
	}
	if files != p.Files {
		return fmt.Errorf("its size classes contain %d files instead of %d", files, p.Files)
	}
	for _, l := range []struct {
		name   string
		counts []int
		sum    int // -1: any
		most   int // classes
	}{
		{"file_depths", p.FileDepths, p.Files, tree.MaxPath}, {"dir_depths", p.DirDepths, p.Dirs, tree.MaxPath},
		{"file_names", p.FileNames, p.Files, tree.MaxName / nameClass}, {"dir_names", p.DirNames, p.Dirs, tree.MaxName / nameClass},
		{"files_in", p.FilesIn, -1, 40}, {"dirs_in", p.DirsIn, -1, 40},
	} {
		sum := 0
		for _, n := range l.counts {
			if n < 0 || n > 1<<30 {
				return fmt.Errorf("%s counts %d", l.name, n)
			}
			sum += n
		}
		if len(l.counts) > l.most || l.sum >= 0 && sum != l.sum {
			return fmt.Errorf("%s has %d classes and a total of %d", l.name, len(l.counts), sum)
		}
	}
	for _, k := range p.Textures {
		if k.Bytes < 1 || k.UpTo < 0 || !k.Texture.Valid() {
			return fmt.Errorf("an impossible kind of contents: %+v", k)
		}
	}
	return nil
}
