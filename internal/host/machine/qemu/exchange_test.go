package qemu

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
)

// leastExchanges is the minimum number of scenes of exchanged media.
const leastExchanges = 17

// Sticks, readers and cards are exchanged while whichfs uses them: the scenes are those of
// internal/target/storage (exchangeScenes), whose test program runs in the guest and prints on the
// console what is to be done.
func TestExchangedMedia(t *testing.T) {
	t.Parallel()
	lab := theLab(t, Options{Append: []string{"whichfs.shell", "whichfs.term=dumb"}})
	program := labtest.Program(t, "whichfs/internal/target/storage")
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	spec := machine.Spec{Storage: "disk:1M", Work: t.TempDir(), Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
	arch, err := archOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	h, err := lab.host(t.Context(), arch)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	p, err := lab.plan(h, spec)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	hand := newHand(t)
	p.files = append(p.files, hand.theirs)
	p.config.extra = append([]string{
		"-chardev", fmt.Sprintf("socket,id=hand,fd=%d", 2+len(p.files)), "-mon", "chardev=hand,mode=control",
		"-device", "qemu-xhci", "-device", "sdhci-pci", "-drive", "if=none,id=slot", "-device", "sd-card,drive=slot",
	}, wake...)
	g, err := start(p.config, false, p.files...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.end()
	var screen bytes.Buffer
	script := fmt.Sprintf("head -c %d /dev/vdb > /tmp/t; chmod +x /tmp/t; cd /tmp\n", st.Size()) +
		"modprobe -a xhci_pci sd_mod sdhci_pci mmc_block; modprobe usb-storage delay_use=0\n" +
		"WHICHFS_TEST_SCENES=exchange /tmp/t -test.run '^TestScenes$' -test.v; exit\n"
	in := bufio.NewReader(g.console)
	_, err = in.Peek(1) // before its prompt the guest throws away what it is sent
	if err == nil {
		_, err = g.console.Write([]byte(script))
	}
	for err == nil {
		var line string
		line, err = in.ReadString('\n')
		screen.WriteString(line)
		if request, ok := strings.CutPrefix(strings.TrimSpace(line), "host: "); ok {
			answer := "done " + hand.do(request)
			if t.Failed() {
				answer = "failed"
			}
			_, err = fmt.Fprintln(g.console, answer)
		}
	}
	<-g.process.Done()
	said := strings.ReplaceAll(screen.String(), "\r", "")
	cases, wrong := -1, -1
	if m := regexp.MustCompile(`(\d+) cases, (\d+) wrong writes\n`).FindStringSubmatch(said); m != nil {
		_, _ = fmt.Sscan(m[1]+" "+m[2], &cases, &wrong)
	}
	t.Logf("%d cases, %d wrong writes", cases, wrong)
	if cases < leastExchanges || wrong != 0 || strings.Contains(said, "--- FAIL") || !strings.Contains(said, "\n--- PASS: TestScenes ") {
		t.Errorf("%d cases, %d wrong writes\n%s", cases, wrong, said)
	}
}

// hand exchanges media in a guest's devices, through QEMU's monitor (QMP).
type hand struct {
	t      *testing.T
	conn   net.Conn
	theirs *os.File
	in     *bufio.Reader
	media  map[string][]byte // what each held when it was put in
	dir    string
	count  int             // of sticks so far
	stick  string          // that is plugged in
	events map[string]bool // "EVENT DEVICE" that came
}

const mediumSize = 8 << 20

func newHand(t *testing.T) *hand {
	t.Helper()
	conn, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &hand{t: t, conn: conn, theirs: theirs, in: bufio.NewReader(conn), media: map[string][]byte{}, dir: t.TempDir()}
}

// do performs the guest's request, and returns the answer.
func (h *hand) do(request string) string {
	words := append(strings.Fields(request), "", "")
	switch medium := words[1]; words[0] {
	case "plug":
		h.count++
		h.stick = fmt.Sprintf("stick%d", h.count)
		h.must("human-monitor-command", map[string]any{"command-line": fmt.Sprintf("drive_add 0 if=none,id=%s-drive,format=raw,file=%s", h.stick, h.file(medium))})
		h.must("device_add", map[string]any{"driver": "usb-storage", "id": h.stick, "drive": h.stick + "-drive", "serial": "STICK", "removable": true})
	case "unplug":
		if h.stick == "" {
			return ""
		}
		h.must("device_del", map[string]any{"id": h.stick})
		h.await("DEVICE_DELETED " + h.stick)
		h.stick = ""
	case "insert":
		h.must("blockdev-change-medium", map[string]any{"device": h.stick + "-drive", "force": true, "filename": h.file(medium), "format": "raw"})
	case "eject":
		h.must("eject", map[string]any{"device": h.stick + "-drive", "force": true})
	case "card":
		if medium == "" {
			h.must("eject", map[string]any{"device": "slot", "force": true})
			return ""
		}
		h.must("blockdev-change-medium", map[string]any{"device": "slot", "force": true, "filename": h.file(medium), "format": "raw"})
	case "compare":
		now, err := os.ReadFile(filepath.Join(h.dir, medium))
		if err != nil {
			return err.Error()
		}
		for i, b := range h.media[medium] {
			if now[i] != b {
				return fmt.Sprintf("it was written to, from byte %d on", i)
			}
		}
	default:
		h.t.Errorf("the guest requests %q", request)
	}
	return ""
}

// file makes a new medium, with its own contents.
func (h *hand) file(medium string) string {
	r := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", medium))))
	b := make([]byte, mediumSize)
	_, _ = r.Read(b)
	h.media[medium] = b
	path := filepath.Join(h.dir, medium)
	_ = os.Remove(path) // another one may still be in a device
	if err := os.WriteFile(path, b, 0o600); err != nil {
		h.t.Error(err)
	}
	return path
}

// must runs a QMP command (docs/interop/qmp-spec.txt of QEMU).
func (h *hand) must(command string, arguments map[string]any) {
	if h.events == nil {
		h.events = map[string]bool{}
		h.must("qmp_capabilities", map[string]any{})
	}
	b, err := json.Marshal(map[string]any{"execute": command, "arguments": arguments})
	if err == nil {
		_, err = h.conn.Write(append(b, '\n'))
	}
	for answered := false; err == nil && !answered; {
		answered, err = h.next()
	}
	if err != nil {
		h.t.Errorf("%s: %v", b, err)
	}
}

// await waits for an event of a device.
func (h *hand) await(event string) {
	for !h.events[event] {
		if _, err := h.next(); err != nil {
			h.t.Errorf("waiting for %s: %v", event, err)
			return
		}
	}
}

// next reads one message, and reports whether it is the answer to a command.
func (h *hand) next() (answer bool, err error) {
	line, err := h.in.ReadBytes('\n')
	if err != nil {
		return false, err
	}
	var m struct {
		Return, Error json.RawMessage
		Event         string
		Data          struct{ Device string }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return false, err
	}
	if m.Event != "" {
		h.events[m.Event+" "+m.Data.Device] = true
	}
	if text := string(m.Return); m.Error != nil || strings.HasPrefix(text, `"`) && text != `"OK\r\n"` {
		return true, fmt.Errorf("%s%s", m.Error, text) // the human monitor says what is wrong in words
	}
	return m.Return != nil, nil
}
