package processor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		name  string
		costs string
	}{
		"600MIPS":     {"600MIPS", "1667,1667,1667,417,5833,5833,933333,1333333,3233333"},
		"1000mips":    {"1000MIPS", "1000,1000,1000,250,3500,3500,560000,800000,1940000"},
		"1.5Mips":     {"1.5MIPS", "666667,666667,666667,166667,2333333,2333333,373333333,533333333,1293333333"},
		"1MIPS":       {"1MIPS", "1000000,1000000,1000000,250000,3500000,3500000,560000000,800000000,1940000000"},
		"1000000MIPS": {"1000000MIPS", "1,1,1,1,4,4,560,800,1940"},
	} {
		p, err := Parse(text)
		if err != nil || p.Name != want.name || p.Costs().String() != want.costs || p.Check() != nil {
			t.Errorf("%s: %v, %v, %s", text, err, p, p.Costs())
		}
	}
	for text, want := range map[string]string{
		"": "type 600MIPS", "600": "type 600MIPS", "600 MIPS": "type 600MIPS", "MIPS": "type 600MIPS", "600MHz": "type 600MIPS", "0x10MIPS": "type 600MIPS",
		"+5MIPS": "type 600MIPS", "1_000MIPS": "type 600MIPS", "-600MIPS": "type 600MIPS", "0MIPS": "from 1MIPS to 1000000MIPS", "0.9MIPS": "from 1MIPS",
		"1000001MIPS": "from 1MIPS", "NaNMIPS": "from 1MIPS", "InfMIPS": "from 1MIPS",
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, spoil := range map[string]func(*Profile){
		"name is missing":                         func(p *Profile) { p.Name = " " },
		"other must be from 1000000":              func(p *Profile) { p.Other = 0 },
		"compressing must be from 1000000":        func(p *Profile) { p.Compressing = -900e6 },
		"checksums must be":                       func(p *Profile) { p.Checksums = math.NaN() },
		"other must be":                           func(p *Profile) { p.Other = math.Inf(1) },
		"copying must be from 1000000":            func(p *Profile) { p.Copying = 180 },
		"call must be from 0 to 1000000 instruct": func(p *Profile) { p.Call = -1 },
		"fault must be":                           func(p *Profile) { p.Fault = math.NaN() },
	} {
		p, err := Parse("600MIPS")
		if err != nil {
			t.Fatal(err)
		}
		spoil(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Every file is in the list, under its name, with its figures as they were reviewed.
func TestBoards(t *testing.T) {
	all, err := Boards()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var names []string
	for _, p := range all {
		names = append(names, p.Name+".toml")
		fmt.Fprintf(&out, "%s\n  %s\n  %s\n  %s\n", p, p.Title, p.Costs(), strings.TrimSpace(p.Source))
		if again, err := Resolve(p.Name); err != nil || again != p {
			t.Errorf("%s: %v, %v", p.Name, again, err)
		}
		if p.Other > p.Compressing {
			t.Errorf("%s: work that waits for memory is faster than work in caches", p.Name)
		}
	}
	golden.Check(t, "boards.txt", out.String())
	files, err := data.ReadDir("boards")
	if err != nil || len(files) != len(boards) {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if !slices.Contains(names, f.Name()) {
			t.Errorf("%s is not in the list under its name", f.Name())
		}
	}
	if !slices.IsSortedFunc(all, func(a, b Profile) int { return int(a.Other - b.Other) }) {
		t.Errorf("not in order: %v", names)
	}
}

// A processor at another clock rate has all figures in one ratio.
func TestProportional(t *testing.T) {
	of := func(text string) Profile {
		p, err := Resolve(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	slow, fast := of("200MIPS"), of("601MIPS")
	twice := of("bbb")
	for _, f := range []*float64{&twice.Other, &twice.Compressing, &twice.Checksums, &twice.Copying} {
		*f *= 2
	}
	if !slow.Proportional(fast) || !fast.Proportional(slow) || !of("bbb").Proportional(twice) {
		t.Error("another clock rate is another processor")
	}
	for i := range 5 {
		p := fast
		*[]*float64{&p.Compressing, &p.Checksums, &p.Copying, &p.Call, &p.Fault}[i] *= 1.001
		if slow.Proportional(p) || p.Proportional(slow) {
			t.Errorf("figure %d is ignored", i)
		}
	}
	if of("bbb").Proportional(of("pi3")) || of("bbb").Proportional(slow) {
		t.Error("two boards have one ratio")
	}
}

const own = `name = "mine"
other = "50MIPS"
compressing = "60MIPS"
checksums = "70MIPS"
copying = "80.5 MB/s"
call = 0
source = "measured"
`

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.toml")
	load := func(content string) (Profile, error) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return Resolve(path)
	}
	want := Profile{Name: "mine", Other: 50e6, Compressing: 60e6, Checksums: 70e6, Copying: 80.5e6, Call: 0, Fault: OwnFault, Switch: OwnSwitch, Source: "measured"}
	if got, err := load(own); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	odd := Profile{Name: "a \"b\" \\ \x00\n\u00e9\xff", Title: "t", Other: 33.4e6, Compressing: 60e6, Checksums: 1e12, Copying: 80.5e6, Call: 12, Fault: 0, Source: "s"}
	got, err := load(odd.Encode())
	odd.Name = "a \"b\" \\ \u00e9\ufffd"
	if err != nil || got != odd {
		t.Errorf("%s is read as %+v, %v", odd.Encode(), got, err)
	}
	if p, err := Resolve(Host); err != nil || p.Measured() || p.Check() == nil || !odd.Measured() {
		t.Errorf("%+v, %v", p, err)
	}
	for change, want := range map[[2]string]string{
		{"other", "others"}:              ":2:1: unknown key \"others\"; the keys are name, title, other",
		{`"60MIPS"`, `"60"`}:             `:3:15: "60" is no speed of a processor; type 600MIPS`,
		{`"60MIPS"`, `60`}:               ":3: compressing must be from 1000000 to 1000000000000 instructions per second, not 60",
		{`"80.5 MB/s"`, `"80.5 MiB/s"`}:  `:5:11: "80.5 MiB/s" is no rate from "1 MB/s"`,
		{`"80.5 MB/s"`, `"NaN MB/s"`}:    ":5:11: ",
		{"call = 0", "call = -1"}:        ":6: call must be from 0",
		{`checksums = "70MIPS"`, ""}:     ": checksums must be from 1000000",
		{`source = "measured"`, ""}:      ": source must say",
		{`name = "mine"`, ""}:            ": name is missing",
		{`name = "mine"`, `name = mine`}: ":1:",
		{`name = "mine"`, "[board]"}:     ":1:2: unknown key \"board\"",
	} {
		if _, err := load(strings.Replace(own, change[0], change[1], 1)); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s:\n got %v\nwant %s", change[1], err, want)
		}
	}
	for text, want := range map[string]string{
		"bbc": `there is no processor "bbc"; use usb-a9263, pandora, bbb, imx6, pi3, pi4, a speed (600MIPS), the path of a profile (./board.toml) or host`, "": "there is no processor",
		"./none.toml": "no such file", "600MHz": "type 600MIPS",
	} {
		if _, err := Resolve(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
