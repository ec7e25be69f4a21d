package workload

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
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
