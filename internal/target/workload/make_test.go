package workload

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
	"whichfs/internal/testing/parsed"
)

// A file that an image cannot hold is refused before the tool would cut it off.
func TestTreeTooLarge(t *testing.T) {
	tree := &memory.Tree{Entries: []memory.Entry{{Path: []byte("small\x00"), Data: make([]byte, 1<<24-1)}, {Path: []byte("big\x00"), Data: make([]byte, 1<<24)}}}
	for name, want := range map[string]string{"cramfs": `a file of cramfs has at most 16777215 bytes, and "big" of the tree has 16777216`, "squashfs": "", "minix": ""} {
		fs, _ := filesystem.ByName(name)
		env := &Env{FS: fs, Candidate: filesystem.Candidate{FS: name}, Trees: map[string]*memory.Tree{"tree": tree}}
		err := env.tooLarge(scenario.Step{Data: "tree"})
		if f := result.FailureOf(err); want == "" && err != nil || want != "" && (f == nil || f.Outcome != result.Unsupported || !strings.HasPrefix(f.Reason, want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	env := &Env{Trees: map[string]*memory.Tree{"tree": {Entries: tree.Entries[:1]}}}
	env.FS, _ = filesystem.ByName("cramfs")
	if err := env.tooLarge(scenario.Step{Data: "tree"}); err != nil {
		t.Error(err)
	}
}

// What fails for want of something of the machine's is not the filesystem's failure.
func TestExcused(t *testing.T) {
	mtab := Subject("mkfs.nilfs2 (exit status 1): mkfs.nilfs2 (nilfs-utils 2.2.9); Error: cannot open /etc/mtab!")
	for name, c := range map[string]struct {
		candidate string
		err       error
		outcome   result.Outcome
		hint      string
	}{
		"no mtab":      {"nilfs2", mtab, result.Unsupported, "ln -s /proc/mounts /etc/mtab"},
		"large blocks": {"xfs -b size=64k", Subject("it is too large"), result.Unsupported, "use blocks of at most "},
		"its own":      {"ext4", Subject("it is broken"), result.SubjectFailed, ""},
		"no blocks":    {"f2fs", Subject("it is broken"), result.SubjectFailed, ""},
	} {
		env := &Env{Candidate: parsed.Candidate(c.candidate)}
		env.FS = env.Candidate.Filesystem()
		if f := result.FailureOf(env.excused(c.err)); f.Outcome != c.outcome || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if err := (&Env{}).excused(nil); err != nil {
		t.Error(err)
	}
}
