package procfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseProcess(t *testing.T) {
	for name, want := range map[string]Process{
		"linux-4.9-jbd2":          {Name: "jbd2/mmcblk0p3-", State: 'S', Parent: 2, Kernel: true, Used: 2670 * time.Millisecond, Started: 412},
		"linux-6.18-bash":         {Name: "bash", State: 'S', Parent: 6447, Used: 70 * time.Millisecond, Started: 118126},
		"linux-6.18-kthreadd":     {Name: "kthreadd", State: 'S', Kernel: true, Started: 9},
		"linux-6.18-kworker":      {Name: "kworker/u8:1-ext4-rsv-conversion", State: 'I', Parent: 2, Kernel: true, Used: 750 * time.Millisecond, Started: 9},
		"linux-6.18-kworker-idle": {Name: "kworker/0:0-events", State: 'I', Parent: 2, Kernel: true, Started: 9},
		"parentheses":             {Name: "(sd-pam) x) y", State: 'S', Parent: 811, Used: 30 * time.Millisecond, Started: 5012},
	} {
		if got, err := ParseProcess(fixture(t, "pid-stat/"+name)); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, text := range []string{
		"", "1 (x", "1 (x)", "1 (x) S", "1 (x) S 2 3 4", ")(", "1 (x) S a b c d e f g h i j k l",
		"1 (x) S -2 0 0 0 -1 4 0 0 0 0 1 1 0 0 20 0 1 0 9", "1 (x) S 2 0 0 0 -1 4 0 0 0 0 1 -1 0 0 20 0 1 0 9",
		"1 (x) S 2 0 0 0 -1 4 0 0 0 0 1 99999999999999999999 0 0 20 0 1 0 9",
	} {
		if p, err := ParseProcess([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestParseSchedstat(t *testing.T) {
	for name, want := range map[string][2]time.Duration{
		"linux-6.18-amd64": {125899, 87160},
		"linux-6.1-guest":  {13549872, 1355030},
	} {
		if ran, waited, err := ParseSchedstat(fixture(t, "schedstat/"+name)); err != nil || ran != want[0] || waited != want[1] {
			t.Errorf("%s: %v, %v, %v; want %v", name, ran, waited, err, want)
		}
	}
	for _, text := range []string{"", "1", "1 x 3", "-1 2 3", "1 -2 3", "18446744073709551615 1 1"} {
		if ran, waited, err := ParseSchedstat([]byte(text)); err == nil {
			t.Errorf("%q: %v, %v", text, ran, waited)
		}
	}
}

func fuzz(f *testing.F, dir string, parse func(f *testing.T, text []byte)) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds in %s: %v", dir, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(parse)
}

func FuzzParseProcess(f *testing.F) {
	fuzz(f, "pid-stat", func(t *testing.T, text []byte) {
		if p, err := ParseProcess(text); err == nil && (p.Used < 0 || p.Parent < 0) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}

func FuzzParseSchedstat(f *testing.F) {
	fuzz(f, "schedstat", func(t *testing.T, text []byte) {
		if ran, waited, err := ParseSchedstat(text); err == nil && (ran < 0 || waited < 0) {
			t.Fatalf("%q: %v, %v", text, ran, waited)
		}
	})
}
