package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"whichfs/internal/flash"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest/parts"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

// bench is a table with a board: a guest with nothing but a console, which is at a serial port of this
// host, and a card. A program switches its power.
type bench struct {
	t      *testing.T
	dir    string
	card   *remains
	master *os.File // of the port

	mu    sync.Mutex
	guest *guest
	seen  strings.Builder // what the board has said
}

func newBench(t *testing.T, card string) *bench {
	t.Helper()
	r, err := unstarted(t, card).remains(t.Context(), false)
	must.Do(t, err)
	b := &bench{t: t, dir: t.TempDir(), card: r}
	var port *os.File
	b.master, port, err = pty.Open()
	must.Do(t, err)
	_, err = term.MakeRaw(int(port.Fd()))
	must.Do(t, err)
	relay, err := parts.NewRelay(b.dir, b.power)
	must.Do(t, err)
	file := fmt.Sprintf("connect = %q\n%soff_seconds = 0\n", "serial:"+port.Name(), relay.Power())
	must.Do(t, os.WriteFile(b.file(), []byte(file), 0o644))
	go func() { // to whatever guest there is
		piece := make([]byte, 4096)
		for {
			n, err := b.master.Read(piece)
			if err != nil {
				return
			}
			b.mu.Lock()
			if b.guest != nil {
				_, _ = b.guest.console.Write(piece[:n])
			}
			b.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		relay.Close()
		b.off()
		_ = b.master.Close()
		_ = port.Close()
		b.card.Close()
		if t.Failed() {
			t.Log(b.seen.String())
		}
	})
	must.Do(t, b.on())
	return b
}

func (b *bench) file() string { return filepath.Join(b.dir, "board.toml") }

// log notes what happens when, and how much of a processor the guest has had until then, for whoever wants cuts to
// take less time.
func (b *bench) log(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ran := 0.0
	if b.guest != nil {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.guest.process.Pid()))
		_, after, _ := strings.Cut(string(stat), ") ")
		if words := strings.Fields(after); len(words) > 12 {
			for _, word := range words[11:13] { // utime and stime, in hundredths
				n, _ := strconv.ParseFloat(word, 64)
				ran += n / 100
			}
		}
	}
	b.t.Logf("%s, after %.2f s of the guest's processor: %s", time.Now().Format("15:04:05.000"), ran, text)
}

// power does what the program asks for.
func (b *bench) power(on bool) error {
	if !on {
		b.log("power off")
		b.off()
		return nil
	}
	b.log("power on")
	return b.on()
}

func (b *bench) off() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guest != nil {
		b.card.cut(b.guest)
		_ = b.guest.end()
		b.guest = nil
	}
}

func (b *bench) on() error {
	p, err := b.card.verifier()
	if err == nil {
		p.config.append = append(p.config.append, "whichfs.shell", "whichfs.term=dumb")
		var g *guest
		if g, err = start(p.config, false, p.files...); err == nil {
			b.mu.Lock()
			b.guest = g
			b.mu.Unlock()
			go func() {
				piece := make([]byte, 4096)
				for {
					n, err := g.console.Read(piece)
					if err != nil {
						return
					}
					b.mu.Lock()
					b.seen.Write(piece[:n])
					b.mu.Unlock()
					if _, err := b.master.Write(piece[:n]); err != nil {
						return
					}
				}
			}()
		}
	}
	return err
}

// begin is a session on the board's card.
func (b *bench) begin() machine.Session {
	b.t.Helper()
	m, err := board.New(b.file(), board.Options{Agent: labtest.Guest(b.t, lab.Native()), Installed: "/proc/1/exe", Progress: b.log})
	must.Do(b.t, err)
	list, err := m.List(b.t.Context())
	if err != nil {
		b.t.Fatal(machinetest.Explain(err))
	}
	for _, d := range list {
		if d.Size == b.card.plan.spec.Size {
			s, err := m.Start(b.t.Context(), machine.Spec{Storage: d.Path, Destroy: d.ID})
			if err != nil {
				b.t.Fatal(machinetest.Explain(err))
			}
			b.t.Cleanup(func() { _ = s.Close() })
			return s
		}
	}
	b.t.Fatalf("%+v", list)
	return nil
}

// cutsVariable is how many cuts each order has on a board, instead of one of the first; docs/boards.md says how long
// each takes.
const cutsVariable = "WHICHFS_BOARD_CUTS"

// A board's power is switched off while it writes: what was synced is there after it has started again, but
// for a filesystem that does not flush the card's cache.
func TestBoardLosesPower(t *testing.T) {
	t.Parallel()
	repeats := 1
	if text := os.Getenv(cutsVariable); text != "" {
		var err error
		repeats, err = strconv.Atoi(text)
		must.Do(t, err)
	}
	all := float64(repeats)
	t.Run("ext4", func(t *testing.T) {
		b := newBench(t, machinetest.ModelWith(t, "sd-basic", "64M", func(m *flash.Model) { m.Power.MergeLoses = false }))
		f, notes := machinetest.Cut(t, b.begin().(machine.Cutter), machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: repeats, Seed: 7, Keep: t.TempDir()})
		for metric, want := range map[string]float64{result.CutsDone: all, result.CutsMounted: all, result.CutsWithLoss: 0} {
			if f[metric].Value != want || f[metric].Absent != "" {
				t.Errorf("%s: %+v, want %v (%s)", metric, f[metric], want, notes)
			}
		}
		if f[result.CutsOps].Value < all || f[result.FilesWhole].Value < all {
			t.Errorf("%+v", f)
		}
	})
	if repeats == 1 { // the lab's contract has the other order, too
		return
	}
	t.Run("nobarrier", func(t *testing.T) {
		// Programming takes this card 20 times as long: it still holds unwritten data when a busy host cuts its power.
		b := newBench(t, machinetest.ModelWith(t, "emmc", "64M", func(m *flash.Model) { m.Media.Program *= 20 }))
		f, notes := machinetest.Cut(t, b.begin().(machine.Cutter), machine.Cut{Candidate: parsed.Candidate("ext4 -o nobarrier"), Repeats: repeats, Seed: 7, Keep: t.TempDir()})
		if f[result.CutsDone].Value != all || f[result.CutsWithLoss].Value == 0 || f[result.FilesMissing].Value+f[result.FilesWrong].Value == 0 {
			t.Errorf("nothing that was not flushed is lost: %+v (%s)", f, notes)
		}
	})
}
