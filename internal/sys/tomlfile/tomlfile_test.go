package tomlfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]Mistake{
		"a = 1\nb = ":          {"f.toml:2:4", "", ""},
		"[t]\nc = 1\nnone = 2": {"f.toml:3:1", `unknown key "t.none"`, "t.none"},
		"[t]\nc = \"x\"":       {"f.toml:2:5", "", ""},
	} {
		var to struct {
			A, B int
			T    struct{ C int }
		}
		err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&to)
		got := Of("f.toml", err)
		if want.What == "" {
			want.What = got.What // the decoder's own words
		}
		if got != want || strings.HasPrefix(got.What, "toml: ") || got.Error() != got.Where+": "+got.What {
			t.Errorf("%q: %#v", text, got)
		}
	}
	if got := Of("f.toml", errors.New("toml: it broke")); got != (Mistake{Where: "f.toml", What: "it broke"}) {
		t.Errorf("%#v", got)
	}
}
