package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
)

var hostileStrings = []string{
	`<script>window.pwned = true</script>`,
	`"><img src=x onerror="window.pwned=true">`,
	`</style><script>window.pwned=true</script>`,
	`javascript:window.pwned=true`,
	"\x1b[2J\x1b]0;title\x07 gone\r\nBenchmarkFake 1 1 ns/op",
	"]]> & \x00 \x0b \ufffe \xff\xfe",
	"\u202egnirts desrever",
	`,"quoted, ""twice"""`,
	strings.Repeat("x", 300),
	"文件系统 ファイル 🙂 é",
	`{{.Run}} %s %!d(string=x) \n`,
	`=cmd|' /C calc'!A0`,
}

// poison replaces every string in the tree by hostile ones, in turn, except the
// few lookup keys.
func poison(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.String:
		switch v.Type() {
		case reflect.TypeFor[result.Outcome](), reflect.TypeFor[result.RunState]():
			return
		}
		if v.CanSet() && v.String() != "" {
			v.SetString(hostileStrings[*n%len(hostileStrings)] + v.String())
			*n++
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i), n)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), n)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			poison(v.Index(i), n)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(it.Value().Type()).Elem()
			value.Set(it.Value())
			poison(value, n)
			v.SetMapIndex(it.Key(), value)
		}
	}
}

// hostile is the sample with hostile strings in every place, and with figures
// that are not finite.
func hostile() (verdict.Verdict, []result.Trial) {
	v, trials := sample()
	absent := func(c *verdict.Cell) {
		if c.Absent == "" {
			c.Estimate.High = math.Inf(1)
			c.Ratio.Low = math.NaN()
		}
	}
	for i := range v.Columns {
		absent(&v.Columns[i].Cells[2])
	}
	v.Trials.Overhead = math.NaN()
	trials[0].Measurements[0].Value = math.NaN()
	n := 0
	poison(reflect.ValueOf(&v).Elem(), &n)
	for i := range v.Columns {
		v.Columns[i].Unit = sampleColumns[i].Unit // of the study's own code, not from outside
	}
	for i := range v.Extra {
		v.Extra[i].Unit = "B"
	}
	for i := range trials {
		poison(reflect.ValueOf(&trials[i]).Elem(), &n)
	}
	return v, trials
}

// harmful reports whether a character must not reach the output unchanged.
func harmful(r rune) bool { return harmless.Line(string(r)) != string(r) }

func TestHostileText(t *testing.T) {
	v, _ := hostile()
	for _, s := range []TextOptions{{Width: 80}, {Width: 80, ASCII: true}, {Width: 40, ASCII: true}, {Width: 1}, {Width: 120, Color: true}} {
		var b bytes.Buffer
		if err := Text(&b, v, s); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if !utf8.ValidString(text) {
			t.Errorf("%+v: not UTF-8", s)
		}
		if !s.Color {
			checkPrintable(t, s, text)
		} else if strings.Contains(text, "\x1b]") || strings.Contains(text, "\x1b[2J") {
			t.Errorf("%+v: a control sequence came through", s)
		}
	}
}

func checkPrintable(t *testing.T, s TextOptions, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if harmful(r) || s.ASCII && r > 126 {
				t.Fatalf("%+v: character %U in line %q", s, r, line)
			}
		}
	}
}

// No line is wider than the screen, whatever the names.
func TestTextKeepsItsWidth(t *testing.T) {
	calm, _ := sample()
	for _, width := range []int{60, 80, 100, 120} {
		for _, ascii := range []bool{false, true} {
			var b bytes.Buffer
			if err := Text(&b, calm, TextOptions{Width: width, ASCII: ascii}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("width %d: a line of %d: %q", width, w, line)
				}
			}
		}
	}
}

func TestEmptyVerdict(t *testing.T) {
	for _, f := range All {
		out := render(t, f.Name, verdict.Verdict{}, nil)
		if len(out) == 0 {
			t.Errorf("%s: nothing written", f.Name)
		}
		// Incomplete verdicts, as an interrupted run may leave them.
		render(t, f.Name, verdict.Verdict{
			Columns: []verdict.Column{{Name: "Read", Unit: "s", Cells: []verdict.Cell{{Candidate: "ext4", Absent: "no trial"}}}, {Name: "Empty"}},
			Uses:    []verdict.Use{{Name: "read-write"}},
			Tables:  []verdict.Published{{Name: "t", Names: []string{"Read"}, Rows: []verdict.PublishedRow{{Label: "x", Theirs: []string{"good", "bad"}}}, Taus: []verdict.Tau{{}, {}}}},
			Phases:  []verdict.Phase{{Name: "p", Rows: []verdict.PhaseCost{{Candidate: "ext4"}, {Candidate: "xfs", Figures: map[string]verdict.Figure{"own.metric": {Unit: "1"}}}}}},
		}, []result.Trial{{}, {Attempt: 1}})
	}
}

type brokenPipe struct{ room int }

func (w *brokenPipe) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	v, trials := sample()
	for _, f := range All {
		size := len(render(t, f.Name, v, trials))
		for _, room := range []int{0, size / 2, size - 1} {
			if err := f.Write(&brokenPipe{room}, v, trials); err == nil {
				t.Errorf("%s: no error when only %d of %d bytes can be written", f.Name, room, size)
			}
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	v, trials := sample()
	var d Document
	if err := json.Unmarshal(render(t, "json", v, trials), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != "whichfs-report" || d.Version != JSONVersion {
		t.Errorf("schema %q version %d", d.Schema, d.Version)
	}
	// A document survives reading and writing without loss.
	if diff := cmp.Diff(string(render(t, "json", v, trials)), string(render(t, "json", d.Verdict, d.Trials))); diff != "" {
		t.Errorf("the document changes when it is read and written again:\n%s", diff)
	}
	hv, ht := hostile()
	out := render(t, "json", hv, ht)
	if !json.Valid(out) {
		t.Error("hostile strings or figures make the JSON invalid")
	}
	if !bytes.Contains(out, []byte(`"high": null`)) {
		t.Error("an open interval is not null")
	}
}

func TestCSVReadsBack(t *testing.T) {
	for _, made := range []func() (verdict.Verdict, []result.Trial){sample, hostile} {
		v, trials := made()
		rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", v, trials))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		for _, trial := range trials {
			want += max(1, len(trial.Measurements))
		}
		if len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		for _, row := range rows[1:] {
			value, absent := row[13], row[15]
			if (value == "") != (absent != "") {
				t.Fatalf("neither or both of value and reason: %q", row)
			}
		}
	}
}

func TestJUnitReadsBack(t *testing.T) {
	v, trials := sample()
	var d junitSuites
	if err := xml.Unmarshal(render(t, "junit", v, trials), &d); err != nil {
		t.Fatal(err)
	}
	// 33 trials done, one of them at the second attempt; jfs failed three
	// times; reiserfs is unsupported.
	if s := d.Suites[0]; s.Name != "trials" || s.Tests != 37 || s.Failures != 3 || s.Errors != 0 || s.Skipped != 1 {
		t.Errorf("trials: %d tests, %d failures, %d errors, %d skipped", s.Tests, s.Failures, s.Errors, s.Skipped)
	}
	if s := d.Suites[1]; s.Name != "claims" || s.Tests != len(v.Claims) || s.Failures != 0 || s.Skipped != 1 {
		t.Errorf("claims: %d tests, %d failures, %d skipped", s.Tests, s.Failures, s.Skipped)
	}
	hv, ht := hostile()
	dec := xml.NewDecoder(bytes.NewReader(render(t, "junit", hv, ht)))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGoBenchReadsBack(t *testing.T) {
	for name, made := range map[string]func() (verdict.Verdict, []result.Trial){"sample": sample, "hostile": hostile} {
		v, trials := made()
		want := 0
		for _, trial := range trials {
			if trial.Outcome == result.Done {
				for _, phase := range phasesOf(trial) {
					if benchValues(trial, phase) != "" { // all absent: no line
						want++
					}
				}
			}
		}
		r := benchfmt.NewReader(bytes.NewReader(render(t, "gobench", v, trials)), name)
		got, walls := 0, 0
		fs := map[string]bool{}
		for r.Scan() {
			switch rec := r.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", name, rec)
			case *benchfmt.Result:
				got++
				if _, ok := rec.Value("sec/op"); ok {
					walls++
				}
				_, parts := rec.Name.Parts()
				if len(parts) != 1 || !bytes.HasPrefix(parts[0], []byte("/fs=")) {
					t.Errorf("%s: name %q has parts %q", name, rec.Name, parts)
				}
				for _, p := range parts {
					fs[string(p)] = true
				}
				if name == "sample" && rec.GetConfig("kernel") != "6.1.0-56-amd64" {
					t.Errorf("kernel is %q", rec.GetConfig("kernel"))
				}
			}
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		if got != want || name == "sample" && walls != want {
			t.Errorf("%s: %d results with %d times, want %d", name, got, walls, want)
		}
		if name == "sample" && len(fs) != len(sampleRows) {
			t.Errorf("%d candidates, want %d: %v", len(fs), len(sampleRows), fs)
		}
	}
}

func TestBenchNames(t *testing.T) {
	trials := []result.Trial{{Candidate: "a b"}, {Candidate: "a_b"}, {Candidate: "erofs -C -65536"}, {Candidate: "x/y"}}
	names := benchNames(trials, "")
	for candidate, want := range map[string]string{"a b": "a_b", "a_b": "a_b#2", "erofs -C -65536": "erofs_-C__65536", "x/y": "x_y"} {
		if names[candidate] != want {
			t.Errorf("%q is named %q, want %q", candidate, names[candidate], want)
		}
	}
}
