package models

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"whichfs/internal/flash"
)

// card is a small valid model file; tests change single lines of it.
const card = `name = "card"
title = "A card"
kind = "flash"
size = "1G"
fat = "4M"

[bus]
command = "120us"
read = "20 MB/s"
write = "12.5 MB/s"
queue = 1

[media]
page = "16K"
block = "4M"
planes = 2
read = "80us"
program = "1.3ms"
erase = "5ms"

[map]
scheme = "segment"
segment = "4M"
open = 5
random = true

[sources]
"bus.read" = "estimate: a guess"
map.open = "counted"
`

func TestParse(t *testing.T) {
	m, err := Parse("card.toml", []byte(card))
	if err != nil {
		t.Fatal(err)
	}
	want := flash.Model{
		Name: "card", Title: "A card", Kind: flash.KindFlash, Size: 1 << 30, FAT: 4 << 20,
		Bus:     flash.Bus{Command: 120 * time.Microsecond, Read: 20e6, Write: 12.5e6, Queue: 1},
		Media:   flash.Media{Page: 16 << 10, Block: 4 << 20, Planes: 2, Read: 80 * time.Microsecond, Program: 1300 * time.Microsecond, Erase: 5 * time.Millisecond},
		Map:     flash.Map{Scheme: flash.SchemeSegment, Segment: 4 << 20, Open: 5, Random: true},
		Sources: map[string]string{"bus.read": "estimate: a guess", "map.open": "counted"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
}

// Every message helps the author of the file: it names the file, the line, the key, what is wrong
// and what is allowed.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", `queue = 1`, `depth = 1`, `card.toml:11: bus.depth: unknown key; the keys are bus.command, bus.read, bus.write, bus.queue, bus.flush`},
		{"unknown table", `[bus]`, `[bux]`, `card.toml:8: bux.command: unknown key; the keys are name, title, kind, size, fat, [bus], [media], [map], [buffer], [fast], [wear], [trim], [power], [disk], [sources], fit`},
		{"table as key", `fat = "4M"`, `wear = true`, `card.toml:5: wear: unknown key: it is a table, [wear]`},
		{"key as table", `fat = "4M"`, `fat.size = "4M"`, `card.toml:5: fat.size: unknown key; the keys are`},
		{"kind of value", `queue = 1`, `queue = "1"`, `card.toml:11: bus.queue: must be a whole number, 1 or more; found a string`},
		{"bytes as number", `page = "16K"`, `page = 16384`, `card.toml:14: media.page: must be a size in quotes, "4M": whole bytes, or K, M, G, T for powers of 1024; found a whole number`},
		{"not a bool", `random = true`, `random = "yes"`, `card.toml:25: map.random: must be true or false; found a string`},
		{"bad size", `page = "16K"`, `page = "16 KB"`, `card.toml:14: media.page: size "16 KB": not a whole number with a known unit; write whole bytes or K, M, G, T for powers of 1024, as in 512M or 2G`},
		{"bad rate", `read = "20 MB/s"`, `read = "20M"`, `card.toml:9: bus.read: "20M" is not a rate; write a rate in quotes, "20 MB/s": a number and B/s, kB/s, MB/s or GB/s, powers of 1000`},
		{"negative rate", `read = "20 MB/s"`, `read = "-20 MB/s"`, `card.toml:9: bus.read: "-20 MB/s" is impossible; use a rate above 0, up to 1000 GB/s`},
		{"rate of nothing", `read = "20 MB/s"`, `read = "NaN MB/s"`, `card.toml:9: bus.read: "NaN MB/s" is impossible`},
		{"bad time", `command = "120us"`, `command = "120"`, `card.toml:8: bus.command: "120" is not a time; write a time in quotes, "120us": a number and ns, us, ms or s`},
		{"no time", `command = "120us"`, `command = "0s"`, `card.toml:8: bus.command: "0s" is not above 0; if the device takes no such time, omit the key`},
		{"long time", `command = "120us"`, `command = "2h"`, `card.toml:8: bus.command: "2h" is longer than any device takes; at most an hour is allowed`},
		{"zero count", `planes = 2`, `planes = 0`, `card.toml:16: media.planes: 0 is not above 0; if the device has none, omit the key`},
		{"unknown scheme", `scheme = "segment"`, `scheme = "block"`, `card.toml:22: map.scheme: "block" is not known; use "segment", "hybrid" or "page"`},
		{"unknown kind", `kind = "flash"`, `kind = "tape"`, `card.toml:3: kind: "tape" is not known; use "flash", "disk" or "free"`},
		{"bad name", `name = "card"`, `name = "My card"`, `card.toml:1: name: "My card" is not a name; use lower-case letters, digits and hyphens, and do not start with a hyphen`},
		{"control characters", `title = "A card"`, `title = "A\u001b[2Jcard"`, `card.toml:2: title: control characters and line breaks are not allowed`},
		{"missing key", `page = "16K"`, ``, `card.toml:13: media.page: missing; it is a size in quotes, "4M"`},
		{"missing name", `name = "card"`, ``, `card.toml: name: missing; it is a string in quotes`},
		{"impossible figure", `segment = "4M"`, `segment = "5M"`, `card.toml:23: map.segment: 5242880 B is not a multiple of media.block, 4194304 B`},
		{"another impossible figure", `page = "16K"`, `page = "1M"`, `card.toml:14: media.page: 1048576 is not between 512 and 131072`},
		{"key of another kind", `[sources]`, "[disk]\nrpm = 5400\n[sources]", `card.toml:28: disk.rpm: has no effect for kind "flash", only for "disk"`},
		{"key of another scheme", `scheme = "segment"`, `scheme = "page"`, `card.toml:23: map.segment: has no effect for the scheme "page"`},
		{"random log blocks", `scheme = "segment"`, `scheme = "hybrid"`, `card.toml:25: map.random: has no effect for the scheme "hybrid": a log block accepts pages in any order`},
		{"source without key", `map.open = "counted"`, `map.closed = "counted"`, `card.toml:29: sources.map.closed: a source for "map.closed", which is not a figure of a model; the keys are map.scheme, map.segment, map.open, map.random, map.spare`},
		{"source of a title", `map.open = "counted"`, `title = "a book"`, `card.toml:29: sources.title: a source for "title", which is not a figure of a model`},
		{"empty source", `map.open = "counted"`, `map.open = ""`, `card.toml:29: sources.map.open: the text is empty`},
		{"source no text", `map.open = "counted"`, `map.open = 3`, `card.toml:29: sources.map.open: must be a string in quotes; found a whole number`},
		{"twice", `queue = 1`, "queue = 1\nqueue = 2", `card.toml:12:1: `},
		{"no TOML", `queue = 1`, "queue = ", `card.toml:11:`},
		{"list", `queue = 1`, `queue = [1, 2]`, `card.toml:11: bus.queue: must be a whole number, 1 or more; found a list`},
		{"list of tables", `[map]`, `[[map]]`, `card.toml:21: map: unknown key: it is a table, [map]`},
		{"inline table", `fat = "4M"`, `fast = { size = "4M", slots = 3 }`, `card.toml:5: fast.slots: unknown key; the keys are fast.size, fast.program, fast.read, fast.idle`},
		{"fit no text", `fat = "4M"`, `fit = 3`, `card.toml:5: fit: must be a string in quotes; found a whole number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(card, c.old+"\n") != 1 {
				t.Fatalf("%q does not occur exactly once in the card", c.old)
			}
			_, err := Parse("card.toml", []byte(strings.Replace(card, c.old+"\n", c.new+"\n", 1)))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "card.toml")
	if err := os.WriteFile(path, []byte(card), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Resolve(path)
	if err != nil || m.Name != "card" {
		t.Errorf("by its path: %q, %v", m.Name, err)
	}
	if _, err := Resolve("./none.toml"); err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Resolve(dir + "/"); err == nil {
		t.Error("a directory is accepted as a model")
	}
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(big); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") {
		t.Errorf("a huge file: %v", err)
	}
	_, err = Resolve("sd-best")
	want := `there is no model "sd-best"; use devbuild-hdd, devbuild-nvme, devbuild-usb-ssd, emmc, emmc-4g, free, hdd, nvme, pandora-microsdhc-16g, pandora-microsdhc-16g-open, pandora-sdhc-16g, pandora-sdxc-64g, sd-a2, sd-basic, sd-class10, sd-class4, sd-class6, ssd-sata-usb, usb-stick, or the path of a model file (./card.toml)`
	if err == nil || err.Error() != want {
		t.Errorf("an unknown name: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		if _, is := err.(*os.PathError); is {
			return err
		}
		err = inner.Unwrap()
	}
}

// What Parse accepts, Write formats so that it parses to the same model.
func FuzzParse(f *testing.F) {
	f.Add([]byte(card))
	for _, name := range shipped {
		content, err := data.ReadFile("data/" + name + ".toml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("name=\"a\"\nkind='free'\nsize='512'\nfit=\"x\\\"\\\\y\"\n[bus]\nqueue=3\nread=\"0.1 kB/s\"\n"))
	f.Add([]byte("[[bus]]\n[sources]\nbus={read=1}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Parse("f.toml", content)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.toml:") {
				t.Fatalf("an error without the file's name: %v", err)
			}
			return
		}
		text := Write(m)
		again, err := Parse("again.toml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("got  %+v\nwant %+v\n%s", again, m, text)
		}
	})
}
