package bench

import (
	"math"
	"os"
	"strings"
	"testing"
)

// Output of bonnie++ 2.00a with -x 1, once with every test too fast.
const (
	bonnieSaid = "1.98,2.00a,x,1,1,2G,,400000,5,,,77361,7,272585,7,,,913229,14,55969,83,512,,,,512,24412,14,162880,19,24926,13,16306,9,114192,21,5804,8,,558ms,308ms,,45933us,362ms,419ms,68567us,207ms,644ms,328ms,2585ms\n"
	bonnieFast = "1.98,2.00a,vm,1,7,2M,,20,2,,,+++++,+++,+++++,+++,,,+++++,+++,+++++,+++,2,,,,2,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,,42us,115us,,32us,99us,764us,102us,219us,465us,37us,440us\n"
)

func TestBonnieRates(t *testing.T) {
	tests := bonnieTests(10, 2, 1<<20)
	got, err := bonnieRates(bonnieSaid, tests)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{77361, 272585, 913229, 55969, 24412, 162880, 24926, 16306, 114192, 5804}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	fast, err := bonnieRates(bonnieFast, tests)
	for _, r := range fast {
		if r != 0 {
			t.Errorf("%v, %v", fast, err)
		}
	}
	for _, text := range []string{"", "1.98,1\n", strings.Replace(bonnieSaid, "1.98", "1.97", 1), strings.Replace(bonnieSaid, "55969", "-1", 1),
		strings.Replace(bonnieSaid, "24412", "", 1), bonnieSaid + bonnieSaid} {
		if _, err := bonnieRates(text, tests); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func FuzzBonnieRates(f *testing.F) {
	f.Add(bonnieSaid)
	f.Add(bonnieFast)
	f.Add("1.98,\"")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := bonnieRates(text, bonnieTests(10, 2, 1<<20))
		for _, r := range rates {
			if err == nil && !(r >= 0 && !math.IsInf(r, 0)) {
				t.Errorf("rate %v", r)
			}
		}
	})
}

// The medians of pairs, and a test that was too fast for a rate.
func TestBonnieTable(t *testing.T) {
	tests := bonnieTests(10, 2, 1<<20)[:4]
	var out strings.Builder
	if err := bonnieTable(&out, tests, [][]float64{{100, 90, 5, 5}, {120, 90, 5, 5}}, [][]float64{{100, 100, 0, 10}, {100, 100, 0, 4}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"ratio (min–max)", "1.10 (1.00–1.20)  1.20            2      at least 0.97  kept", "0.90 (0.90–0.90)", "not measured here", "too noisy to tell"} {
		if !strings.Contains(strings.Split(out.String(), "\n")[i], want) {
			t.Errorf("line %d lacks %q:\n%s", i, want, out.String())
		}
	}
	if !strings.Contains(strings.Split(out.String(), "\n")[2], "NOT KEPT") {
		t.Errorf("a ratio of 0.9 is kept:\n%s", out.String())
	}
}

// Our side performs every test, in the order of the table, and leaves no files.
func TestBonnieChild(t *testing.T) {
	var out strings.Builder
	mount := t.TempDir()
	if err := bonnieChild(mount, "300", "3", "1048576", &out); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(out.String())); n != 10 {
		t.Errorf("%d tests:\n%s", n, out.String())
	}
	if left, err := os.ReadDir(mount); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, bad := range [][3]string{{"x", "1", "1"}, {"1", "2", "8192"}, {"10", "1", "5"}} {
		if err := bonnieChild(mount, bad[0], bad[1], bad[2], &out); err == nil {
			t.Errorf("%v passes", bad)
		}
	}
}
