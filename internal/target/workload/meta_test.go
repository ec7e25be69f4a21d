package workload

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// rand3 is rand(3) of the GNU C library (its random numbers of type 3), from which Bonnie++ draws.
func rand3(seed int32) func() int {
	r := make([]int32, 34, 4096)
	r[0] = seed
	for i := 1; i < 31; i++ {
		r[i] = int32((16807 * int64(r[i-1])) % 2147483647)
		if r[i] < 0 {
			r[i] += 2147483647
		}
	}
	copy(r[31:], r[:3])
	next := func() uint32 {
		n := len(r)
		r = append(r, r[n-31]+r[n-3])
		return uint32(r[n])
	}
	for range 310 {
		next()
	}
	return func() int { return int(next() >> 1) }
}

// With the same random numbers the names are those of the real program: bonnie++ 2.00a, -s 0 -n
// 1:0:0:3 -z 7, names of the files as the kernel saw them created (strace), one per line.
func TestMetaNamesAreThoseOfBonnie(t *testing.T) {
	draw := rand3(7)
	for _, c := range []struct {
		order, digest string
		some          map[int]string
	}{
		{scenario.OrderSequential, "68f5cc1cb1ad47bcc5a35418494c94adc1ed42556a60678dca546c3203c76a30",
			map[int]string{0: "00000/0000000000HpTV9uPinXnD", 1: "00000/0000000001xYYCeYC", 341: "00000/0000000155AKzKSSKyT", 342: "00001/00000001565aTT6FSlMyQp", 1023: "00002/00000003ffe"}},
		{scenario.OrderRandom, "57104076bca79e6302a12159366a8a04e3fe932a7e624da4dd0592bb70ca0b8f",
			map[int]string{0: "00000/u0000000000", 1: "00000/gN5SHnbv0000000001", 341: "00000/0000000155", 342: "00001/0000000156", 1023: "00002/kgK00000003ff"}},
	} {
		names := newMetaNames(1024, 3, c.order, draw)
		var all strings.Builder
		for i := range names.files {
			fmt.Fprintln(&all, names.text(i))
		}
		for i, want := range c.some {
			if got := names.text(i); got != want {
				t.Errorf("%s: name %d is %q, want %q", c.order, i, got, want)
			}
		}
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(all.String()))); got != c.digest {
			t.Errorf("%s: the names differ", c.order)
		}
		if n := []int{names.share(0), names.share(1), names.share(2)}; !slices.Equal(n, []int{342, 342, 340}) {
			t.Errorf("shares %v", n)
		}
	}
}

// storm is a step of a storm of files.
func storm(order string, files, dirs int) scenario.Step {
	return scenario.Step{Dir: "b/" + order, Files: files, Dirs: dirs, Order: order, Seed: 5}
}

func TestMetaLife(t *testing.T) {
	noUmask(t)
	onFilesystems(t, func(t *testing.T, mount string) {
		env := makeEnv(t, mount, nil)
		for _, dirs := range []int{1, 7} {
			for _, order := range []string{scenario.OrderSequential, scenario.OrderRandom} {
				step := storm(order, 2500, dirs)
				made, x := must(t, env, MetaCreate, step)
				wantLatencies(t, "create", x, 2500)
				top := filepath.Join(mount, step.Dir)
				got := listed(t, top)
				if len(got) != 2500 || made.Files != 2500 {
					t.Fatalf("%d files made, %+v", len(got), made)
				}
				want := newMetaNames(2500, dirs, order, func() func() int {
					source := metaSource(5, metaDrawNames)
					return func() int { return int(source.Uint32() >> 1) }
				}())
				for i := range want.files {
					if !got[want.text(i)] {
						t.Fatalf("%q was not made", want.text(i))
					}
				}
				seen, x := must(t, env, MetaStat, step)
				wantLatencies(t, "stat", x, 2500)
				read, x := must(t, env, MetaRead, step)
				wantLatencies(t, "read", x, 2500)
				if read.Files != 2500 {
					t.Errorf("%+v read", read)
				}
				gone, x := must(t, env, MetaDelete, step)
				wantLatencies(t, "delete", x, 2500)
				if seen.Files != 2500 || gone.Files != 2500 {
					t.Errorf("%+v seen, %+v deleted", seen, gone)
				}
				if _, err := os.Stat(top); !os.IsNotExist(err) {
					t.Errorf("left behind: %v", err)
				}
			}
		}
	})
}

// listed are the empty files below a directory that only their owner may access.
func listed(t *testing.T, top string) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	err := filepath.Walk(top, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode() == 0o600 && info.Size() == 0 {
			rel, _ := filepath.Rel(top, path)
			got[rel] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantLatencies(t *testing.T, what string, x Extra, n int) {
	t.Helper()
	last := 0.0
	for i, metric := range []string{result.LatP50, result.LatP95, result.LatP99, result.LatP999, result.LatMax} {
		if i >= len(x.Measurements) {
			t.Fatalf("%s: %+v", what, x.Measurements)
		}
		m := x.Measurements[i]
		if m.Metric != metric || m.Unit != "s" || m.Absent != "" && n >= 1000 || m.Absent == "" && (m.Value < last || m.Value <= 0 || m.Value > 60) {
			t.Errorf("%s: %+v after %v", what, m, last)
		}
		last = m.Value
	}
}

// Each of the two random passes has each file once, in its own order.
func TestMetaRandomOrders(t *testing.T) {
	orders := map[string]bool{}
	for use := metaDrawNames; use <= metaDrawDelete; use++ {
		m := newMetaNames(500, 5, scenario.OrderRandom, rand3(1))
		m.shuffle(metaSource(3, uint64(use)))
		var text []string
		for i := range m.files {
			text = append(text, m.text(i))
		}
		orders[strings.Join(text, "\n")] = true
		slices.Sort(text)
		if len(slices.Compact(text)) != 500 {
			t.Errorf("draw %d: a file is there twice", use)
		}
	}
	if len(orders) != 3 {
		t.Errorf("%d orders of 3", len(orders))
	}
}

func TestMetaRefused(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	with := func(change func(*scenario.Step)) scenario.Step {
		step := storm(scenario.OrderSequential, 10, 2)
		change(&step)
		return step
	}
	for want, step := range map[string]scenario.Step{
		"must be named":          with(func(s *scenario.Step) { s.Dir = "" }),
		"not below":              with(func(s *scenario.Step) { s.Dir = "../x" }),
		"0 files":                with(func(s *scenario.Step) { s.Files = 0 }),
		"-3 files":               with(func(s *scenario.Step) { s.Files = -3 }),
		"11 directories":         with(func(s *scenario.Step) { s.Dirs = 11 }),
		`unknown order "upward"`: with(func(s *scenario.Step) { s.Order = "upward" }),
	} {
		for _, k := range []Kind{MetaCreate, MetaStat, MetaRead, MetaDelete} {
			_, _, err := perform(t, env, k, step)
			wantFailure(t, err, result.Refused, want)
		}
	}
}

// A pass over fewer or more files than expected is not a figure.
func TestMetaMismatch(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	for _, order := range []string{scenario.OrderSequential, scenario.OrderRandom} {
		step := storm(order, 40, 3)
		must(t, env, MetaCreate, step)
		_, _, err := perform(t, env, MetaCreate, step)
		wantFailure(t, err, result.SubjectFailed, "file exists")
		victim := newMetaNames(40, 3, order, func() func() int {
			source := metaSource(5, metaDrawNames)
			return func() int { return int(source.Uint32() >> 1) }
		}()).text(17)
		if err := os.Remove(filepath.Join(env.Mount, step.Dir, victim)); err != nil {
			t.Fatal(err)
		}
		for _, k := range []Kind{MetaStat, MetaRead, MetaDelete} {
			_, _, err := perform(t, env, k, step)
			want := victim + `": no such file`
			if order == scenario.OrderSequential && k.Name != MetaRead.Name {
				want = "39 of 40 created files were listed"
			}
			wantFailure(t, err, result.SubjectFailed, want)
		}
	}
}

// A directory that is not empty at the end is a separate failure.
func TestMetaDeleteKeepsOtherFiles(t *testing.T) {
	env := makeEnv(t, t.TempDir(), nil)
	step := storm(scenario.OrderRandom, 10, 1)
	must(t, env, MetaCreate, step)
	if err := os.WriteFile(filepath.Join(env.Mount, step.Dir, "stranger"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := perform(t, env, MetaDelete, step)
	wantFailure(t, err, result.SubjectFailed, unix.ENOTEMPTY.Error())
}
