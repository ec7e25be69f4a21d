package qemu

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// carried is what is measured over each transport.
var carried = scenario.Scenario{
	{Work: "discard"}, {Work: "settle"},
	{Work: "mkfs", Phase: "mkfs"},
	{Work: "mount", Phase: "mount"},
	{Work: "stream-write", Phase: "write", Data: "stream", Dir: "streams", Count: 2},
	{Work: "remount", Phase: "remount"},
	{Work: "stream-read", Phase: "read", Data: "stream", Dir: "streams", Count: 2},
	{Work: "unmount", Phase: "unmount"},
	{Work: "check", Phase: "check"},
}

// again is virtio once more: what two that are the same differ by.
const again = "virtio again"

// BenchmarkTransports compares the figures that one guest, which runs all the time, has over its virtio port,
// ssh and a serial line, in rounds of shuffled order:
//
//	go test -run '^$' -bench Transports -benchtime 10x -timeout 2h ./internal/host/machine/qemu
//
// A ratio's interval that contains 1 is no difference; those of virtio with itself show what chance does.
func BenchmarkTransports(b *testing.B) {
	guest := newPorts(b)
	transports := []string{"virtio", again, "ssh", "serial"}
	data := []scenario.Data{dataset.Stream("stream", 4<<20, 1)}
	walls := map[string]map[string][]float64{} // by phase and transport, a logarithm for each round
	counts := map[string]map[string]bool{}     // of each transport: what does not depend on time
	shuffle := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		for _, i := range shuffle.Perm(len(transports)) {
			name := transports[i]
			s := guest.session(name, data)
			d, err := s.Trial(b.Context(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: carried}, machine.Events{Figures: func(f wire.Figures) {
				for _, m := range f.Measurements {
					switch m.Metric {
					case result.Wall:
						if walls[m.Phase] == nil {
							walls[m.Phase] = map[string][]float64{}
						}
						walls[m.Phase][name] = append(walls[m.Phase][name], math.Log(m.Value))
					case result.DeviceRead, result.DeviceWritten, result.AgentMallocs:
						what := fmt.Sprintf("%s of %s", m.Metric, m.Phase)
						if counts[what] == nil {
							counts[what] = map[string]bool{}
						}
						counts[what][fmt.Sprintf("%s %v", name, m.Value)] = true
					}
				}
			}})
			if err != nil || d.Outcome != result.Done {
				b.Fatalf("%s: %+v, %v", name, d, machinetest.Explain(err))
			}
			must.Do(b, s.Close())
		}
	}
	text := fmt.Sprintf("%-8s %10s", "phase", "virtio, s")
	for _, name := range transports[1:] {
		text += fmt.Sprintf(" %26s", name+" / virtio")
	}
	for _, phase := range carried.Phases() {
		of := walls[phase]
		text += fmt.Sprintf("\n%-8s %10.4f", phase, math.Exp(stat.Mean(of["virtio"], nil)))
		for _, name := range transports[1:] {
			ratio, low, high := paired(of[name], of["virtio"])
			text += fmt.Sprintf(" %8.3f (%.3f to %.3f)", ratio, low, high)
		}
	}
	b.Log("\n" + text)
	for what, seen := range counts {
		all := []string{}
		for one := range seen {
			all = append(all, one)
		}
		slices.Sort(all)
		b.Logf("%s: %s", what, strings.Join(all, ", "))
	}
}

// paired is the ratio of two with its interval of 95 %, from logarithms that belong together.
func paired(a, of []float64) (ratio, low, high float64) {
	n := len(of)
	d := make([]float64, n)
	for i := range d {
		d[i] = a[i] - of[i]
	}
	mean, spread := stat.MeanStdDev(d, nil)
	half := distuv.StudentsT{Sigma: 1, Nu: float64(max(n-1, 1))}.Quantile(0.975) * spread / math.Sqrt(float64(n))
	return math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)
}

// ports is a board that is also reached over two virtio ports: an agent listens at one, and an ssh server, this
// host's, at the other.
type ports struct {
	*bench
	spec   machine.Spec
	serial *board.Machine
	ssh    *board.Machine
	agent  string // where the agent's port is
}

const agentPort, sshPort = "agent", "ssh"

func newPorts(t testing.TB) *ports {
	t.Helper()
	p := &ports{}
	keys := t.TempDir()
	for _, name := range []string{"host", "client"} {
		_, err := command.Run(t.Context(), command.Options{}, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, name))
		must.Do(t, err)
	}
	server := packed(t, keys)
	ends := map[string]net.Conn{}
	p.bench = newBench(t, "sim:sd-basic,256M", func(g *planned) {
		file, err := labguest.InMemory("server", slices.Concat(server, make([]byte, -len(server)&511)))
		must.Do(t, err)
		g.files = append(g.files, file)
		g.config.disks = append(slices.Clone(g.config.disks), disk{serial: "server", file: descriptor(len(g.files) - 1), readOnly: true})
		g.config.extra = []string{"-device", "virtio-serial-pci"}
		for _, name := range []string{agentPort, sshPort} {
			ours, theirs, err := socketPair()
			must.Do(t, err)
			g.files = append(g.files, theirs)
			ends[name] = ours
			g.config.extra = append(g.config.extra, "-chardev", fmt.Sprintf("socket,id=%s,fd=%d", name, 2+len(g.files)), "-device", "virtserialport,chardev="+name+",name="+name)
		}
	})
	p.serial = p.machine()
	p.spec = p.found(p.serial)
	for ready := false; !ready; time.Sleep(time.Second) { // the shell drops what comes while it gets its console back
		p.mu.Lock()
		_, err := p.guest.console.Write([]byte("echo rea\"\"dy\n"))
		ready = strings.Contains(p.seen.String(), "\nready")
		p.mu.Unlock()
		must.Do(t, err)
	}
	p.typed(t, `cp /proc/1/exe /root/agent`)
	p.typed(t, `for d in /sys/block/vd*; do if [ "$(cat $d/serial)" = server ]; then tar xf /dev/${d##*/} -C /root; fi; done; mkdir -p /run/sshd; chown -R 0:0 /root; chmod 700 /root /root/server; chmod 600 /root/server/host`)
	p.typed(t, `printf 'root:x:0:0:root:/root:/bin/sh\nsshd:x:105:65534::/run/sshd:/bin/false\n' >/etc/passwd; printf 'root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n' >/etc/shadow`)
	p.typed(t, `port() { for p in /sys/class/virtio-ports/*; do [ "$(cat $p/name)" = $1 ] && echo /dev/${p##*/}; done; }`)
	p.typed(t, `(while :; do /root/agent board 0<>$(port agent) 1>&0 2>/root/agent.log; sleep 1; done) & (while :; do /root/server/loader --library-path /root/server /root/server/sshd -i -e -f /root/server/config 0<>$(port ssh) 1>&0 2>>/root/ssh.log; sleep 1; done) &`)
	p.agent = relay(t, ends[agentPort])
	_, number, err := net.SplitHostPort(relay(t, ends[sshPort]))
	must.Do(t, err)
	public, err := os.ReadFile(filepath.Join(keys, "host.pub"))
	must.Do(t, err)
	write := func(name, text string) string {
		path := filepath.Join(keys, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	known := write("known", fmt.Sprintf("[127.0.0.1]:%s %s", number, public))
	config := write("config", fmt.Sprintf("Host guest\n HostName 127.0.0.1\n Port %s\n User root\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n", number, filepath.Join(keys, "client"), known))
	p.ssh, err = board.New("ssh:guest", board.Options{Config: config, Agent: labtest.Guest(t, lab.Native()), Installed: "/root/agent", Progress: func(text string) { t.Log(text) }})
	must.Do(t, err)
	return p
}

// typed has the board's shell carry a line out.
func (p *ports) typed(t testing.TB, line string) {
	t.Helper()
	p.mu.Lock()
	from := p.seen.Len()
	_, err := p.guest.console.Write([]byte(line + "\necho do\"\"ne $?\n"))
	p.mu.Unlock()
	must.Do(t, err)
	said := ""
	wait.Until(t, "the board has carried out "+line, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		said = p.seen.String()[from:]
		return regexp.MustCompile(`\ndone \d+\r?\n`).MatchString(said)
	})
	if !strings.Contains(said, "\ndone 0\r") {
		t.Fatal(said)
	}
}

// packed is an archive of this host's ssh server with its libraries and configuration.
func packed(t testing.TB, keys string) []byte {
	t.Helper()
	const program = "/usr/sbin/sshd"
	r, err := command.Run(t.Context(), command.Options{}, "ldd", program)
	must.Do(t, err)
	public, err := os.ReadFile(filepath.Join(keys, "client.pub"))
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(keys, "authorized"), public, 0o600))
	must.Do(t, os.WriteFile(filepath.Join(keys, "server"), []byte("HostKey /root/server/host\nAuthorizedKeysFile /root/server/authorized\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\nUsePAM no\nPidFile none\n"), 0o600))
	from := map[string]string{"sshd": program, "host": filepath.Join(keys, "host"), "authorized": filepath.Join(keys, "authorized"), "config": filepath.Join(keys, "server")}
	for word := range strings.FieldsSeq(r.Stdout) {
		if strings.HasPrefix(word, "/") {
			name := filepath.Base(word)
			if strings.HasPrefix(name, "ld-linux") {
				name = "loader"
			}
			from[name] = word
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, path := range from {
		content, err := os.ReadFile(path)
		must.Do(t, err)
		must.Do(t, w.WriteHeader(&tar.Header{Name: "server/" + name, Mode: 0o755, Size: int64(len(content))}))
		_, err = w.Write(content)
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// relay passes one connection after the other on to a port, and returns its address.
func relay(t testing.TB, port net.Conn) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = l.Close(); _ = port.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, err := io.Copy(c, port)
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					_ = c.Close()
				}
			}()
			_, _ = io.Copy(port, c)
			_ = port.SetReadDeadline(time.Now())
			<-over
			_ = port.SetReadDeadline(time.Time{})
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// session begins one over a transport.
func (p *ports) session(name string, data []scenario.Data) machine.Session {
	p.t.Helper()
	spec := p.spec
	spec.Data = data
	var s machine.Session
	var err error
	switch name {
	case "ssh":
		s, err = p.ssh.Start(p.t.Context(), spec)
	case "serial":
		s, err = p.serial.Start(p.t.Context(), spec)
	default:
		var conn net.Conn
		conn, err = net.Dial("tcp", p.agent)
		must.Do(p.t, err)
		c := machine.NewClient(wire.New(conn, conn, nil), machine.ClientOptions{Closer: conn.Close})
		err = c.Open(p.t.Context(), wire.Prepare{Storage: spec.Storage, Destroy: spec.Destroy, Data: data, Load: true})
		s = c
	}
	if err != nil {
		p.t.Fatalf("%s: %s", name, machinetest.Explain(err))
	}
	return s
}
