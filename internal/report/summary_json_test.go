package report

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"whichfs/internal/judge/verdict"
)

// The summary for programs is what its schema says, and the schema tells others apart.
func TestSummarySchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("../../docs/summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	usual, _ := sample()
	usual.Uses[0].Needed = 9
	survival, _ := survivalSample(t)
	toy, _ := toySample(t)
	one := func(runs ...verdict.Verdict) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := SummaryJSON(&b, runs); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, text := range map[string][]byte{"sample": one(usual), "survival": one(survival), "a series": one(usual, toy)} {
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := one(usual)
	for _, change := range [][2]string{{`"settled": true`, `"settled": 1`}, {`"clock": "wall"`, `"clock": "sundial"`}, {`"storage"`, `"stroage"`}, {`"done": 33`, `"done": -1`}} {
		broken := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(broken, text) {
			t.Fatalf("%s is not in it:\n%s", change[0], text)
		}
		if valid(broken) == nil {
			t.Errorf("%s is valid", change[1])
		}
	}
	golden(t, "sample.short", text)
}
