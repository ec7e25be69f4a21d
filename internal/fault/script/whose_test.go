package script

import "testing"

func TestWhose(t *testing.T) {
	s := Script{Setup: []Op{{Do: "create", Path: "old"}}, Ops: []Op{{Do: "create", Path: "dir/new"}, {Do: "rename", Path: "dir/new", To: "moved"}}}
	sector := make([]byte, 512)
	for _, one := range []struct {
		written int
		path    string
		op      int
		ok      bool
	}{{1, "dir/new", 1, true}, {2, "moved", 2, true}, {setupBase + 1, "old", 0, true}, {1, "elsewhere", 0, false}} {
		fill(sector, one.written, one.path, 4096)
		path, op, ok := s.Whose(sector)
		if ok != one.ok || ok && (path != one.path || op != one.op) {
			t.Errorf("%+v became %q, %d, %v", one, path, op, ok)
		}
	}
	if _, _, ok := s.Whose(make([]byte, 512)); ok {
		t.Error("zeros belong to a file")
	}
}
