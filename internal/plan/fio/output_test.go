package fio

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func read(t *testing.T, name string) Report {
	t.Helper()
	r, err := Read(fixture(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// Output of fio 3.33 of Debian 12 for jobs with known sizes.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name       string
		bytes, ops int64
		directions string
	}{
		{"read.json", 2 << 20, 512, "read"},
		{"mixed.json", 8 << 20, 2048, "read write"},
		{"several.json", 4<<20 + 8<<20, 64 + 2048, "read write"},
		{"unified.json", 2 << 20, 512, "mixed"},
		{"both.json", 1 << 20, 256, "read write"},
		{"stall.json", 1635778560, 390, "read"},
	} {
		r := read(t, c.name)
		var names []string
		for _, n := range Names {
			if d, ok := r.Directions[n]; ok {
				names = append(names, n)
				if d.Time <= 0 || d.Bytes <= 0 || d.Ops <= 0 {
					t.Errorf("%s: %s: %+v", c.name, n, d)
				}
			}
		}
		if r.Bytes != c.bytes || r.Ops != c.ops || strings.Join(names, " ") != c.directions || r.Version != "3.33" {
			t.Errorf("%s: %d bytes, %d requests, %v, version %s", c.name, r.Bytes, r.Ops, names, r.Version)
		}
		if r.Time <= 0 || r.User+r.System <= 0 || len(r.Failures) > 0 || r.Errors != 0 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// Jobs one after the other add up, jobs at the same time do not.
func TestReadTimes(t *testing.T) {
	const one = `{"jobname":"a","groupid":%G,"job_runtime":1000,"usr_cpu":10.0,"sys_cpu":20.0,"read":{"io_bytes":100,"total_ios":1,"runtime":%R,"clat_ns":{"max":5,"bins":{"4":1}}}}`
	job := func(group, runtime string) string {
		return strings.NewReplacer("%G", group, "%R", runtime).Replace(one)
	}
	r, err := Read([]byte(`{"fio version":"fio-3.1","jobs":[` + strings.Join([]string{job("0", "2000"), job("0", "3000"), job("1", "500")}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Time != 3.5 || r.Directions["read"].Time != 3.5 || math.Abs(r.User-0.3) > 1e-9 || math.Abs(r.System-0.6) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

// fio's own percentiles of the same requests are the oracle.
func TestPercentilesMatchFio(t *testing.T) {
	for _, name := range []string{"read.json", "mixed.json", "several.json", "unified.json", "stall.json"} {
		type latency struct {
			Percentile map[string]int64 `json:"percentile"`
		}
		var o struct {
			Jobs []map[string]json.RawMessage `json:"jobs"`
		}
		if err := json.Unmarshal(fixture(t, name)[len(fixture(t, name))-len(mustDocument(t, fixture(t, name))):], &o); err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, job := range o.Jobs {
			for _, direction := range Names {
				var theirs struct {
					Clat latency `json:"clat_ns"`
				}
				var ours directionOutput
				if job[direction] == nil || json.Unmarshal(job[direction], &theirs) != nil || json.Unmarshal(job[direction], &ours) != nil {
					continue
				}
				var l Latency
				l.add(ours.Clat, int64(ours.Ops))
				for text, want := range theirs.Clat.Percentile {
					share, err := strconv.ParseFloat(text, 64)
					if err != nil {
						t.Fatal(err)
					}
					got, why := l.Percentile(share / 100)
					capped := math.Min(float64(want), l.max)
					switch {
					case want >= lastEdge:
						if !strings.HasPrefix(why, "at least 17.0 s") {
							t.Errorf("%s, %s: p%s is %v (%s)", name, direction, text, got, why)
						}
					case why != "" || math.Abs(got-capped*nanosecond) > 1e-12:
						t.Errorf("%s, %s: p%s is %v (%s), fio has %d ns", name, direction, text, got, why, want)
					}
					compared++
				}
			}
		}
		if compared == 0 {
			t.Errorf("%s: nothing compared", name)
		}
	}
}

func mustDocument(t *testing.T, text []byte) []byte {
	t.Helper()
	body, err := document(text)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// The histogram ends at 2^34 ns; the longest latency is still known.
func TestBeyondTheHistogram(t *testing.T) {
	r := read(t, "stall.json")
	if v, why := r.All.Percentile(0.5); why != "" || v <= 0 || v > 1 {
		t.Errorf("p50 %v %s", v, why)
	}
	if v, why := r.All.Percentile(0.999); why != "at least 17.0 s: fio's histogram ends at 17.2 s" || v != 0 {
		t.Errorf("p99.9 %v %q", v, why)
	}
	if v, why := r.All.Max(); why != "" || v < 18 || v > 60 {
		t.Errorf("max %v %s", v, why)
	}
	// In the last bin and not beyond: that is a figure.
	var l Latency
	l.add(latencyOutput{Max: 17.1e9, Bins: map[string]int64{"17112760320": 1}}, 1)
	if v, why := l.Percentile(0.5); why != "" || v != 17.1 {
		t.Errorf("%v %q", v, why)
	}
}

func TestNoLatencies(t *testing.T) {
	var l Latency
	if _, why := l.Percentile(0.5); why == "" {
		t.Error("a percentile of nothing")
	}
	if _, why := l.Max(); why == "" {
		t.Error("a longest of nothing")
	}
	l.add(latencyOutput{Max: 9, Bins: map[string]int64{"8": 1}}, 3)
	if _, why := l.Percentile(0.5); !strings.Contains(why, "1 of 3") {
		t.Errorf("two thirds of the requests are missing: %q", why)
	}
}

func TestReadFailures(t *testing.T) {
	r := read(t, "full.json")
	if len(r.Failures) != 1 || r.Failures[0] != (Failure{Job: "x", Errno: 28}) {
		t.Errorf("failures %+v", r.Failures)
	}
	if _, err := Read(fixture(t, "bad-option.txt")); !errors.Is(err, ErrNone) {
		t.Errorf("a refused job: %v", err)
	}
	whole := fixture(t, "mixed.json")
	for name, text := range map[string]string{
		"nothing":    "",
		"cut":        string(whole[:len(whole)/2]),
		"no version": `{"jobs":[{}]}`,
		"no jobs":    `{"fio version":"fio-3.33","jobs":[]}`,
		"old":        `{"fio version":"fio-2.1.4","jobs":[{}]}`,
		"other":      `{"hello":1}`,
		"number":     `{"fio version":"fio-3.33","jobs":[{"error":"many"}]}`,
		"huge":       `{"fio version":"fio-3.33","jobs":[{"error":1e300}]}`,
		"list":       "[]",
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}

// Other versions have more or fewer keys, and C prints nan.
func TestReadLeniently(t *testing.T) {
	text := "fio: this engine is new\nnote: {x}\n" + `{
  "fio version" : "fio-3.99-dirty", "new" : {"a":[1,2]},
  "jobs" : [ { "jobname" : "say \"nan\" inf", "iops_mean" : -nan, "usr_cpu" : nan, "other" : inf,
    "write" : { "io_bytes" : 4096.0, "total_ios" : 1, "runtime" : 1, "lat_ns" : { "max" : 7, "bins" : { "6" : 1, "x" : 4 } } } } ]
}
and more
`
	r, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if v, why := r.Directions["write"].Latency.Percentile(0.99); r.Bytes != 4096 || r.User != 0 || why != "" || math.Abs(v-6e-9) > 1e-15 {
		t.Errorf("%+v, %v %q", r, v, why)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"read.json", "full.json", "bad-option.txt", "unified.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"fio version":"fio-3.0","jobs":[{"read":{"total_ios":1,"runtime":-1,"clat_ns":{"max":nan,"bins":{"-4":9223372036854775807,"5":9223372036854775807}}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(text)
		if err != nil {
			return
		}
		bad := func(v float64) bool { return v < 0 || math.IsNaN(v) || math.IsInf(v, 0) }
		if bad(r.Time) || bad(r.User) || bad(r.System) {
			t.Fatalf("%+v", r)
		}
		for name, d := range r.Directions {
			last := 0.0
			for _, share := range []float64{0.5, 0.95, 0.99, 0.999, 1} {
				v, why := d.Latency.Percentile(share)
				if why == "" && (bad(v) || v < last) {
					t.Fatalf("%s: %v after %v", name, v, last)
				}
				if why == "" {
					last = v
				}
			}
			if m, why := d.Latency.Max(); why == "" && (bad(m) || last > m*1.0000001) {
				t.Fatalf("%s: %v and at most %v", name, last, m)
			}
		}
	})
}
