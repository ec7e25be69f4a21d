package script

import (
	"testing"

	"whichfs/internal/fault"
)

// The history of a script without operations is unknown.
func TestUnknown(t *testing.T) {
	j, err := NewJudge(Script{Name: "a log of unknown origin"}, Promises{Ordered: true, NoStale: true})
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{"": {Kind: "dir"}, "anything": {Kind: "file", Size: 3, Data: []byte("any")}}
	if breaches, looked := j.Judge(0, 0, tree, ""); len(breaches) > 0 || looked != 2 {
		t.Errorf("%+v, %d", breaches, looked)
	}
	tree["broken"] = Found{Kind: "file", Err: "input/output error"}
	if breaches, _ := j.Judge(0, 0, tree, ""); len(breaches) != 1 || breaches[0].Outcome != fault.IOError || breaches[0].Path != "broken" {
		t.Errorf("%+v", breaches)
	}
}
