package board

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// lease is a place that labgrid lends. It is labgrid's own client that speaks with the coordinator, so the
// user's environment (LG_COORDINATOR, LG_PROXY, …) counts.
type lease struct {
	program string
	name    string   // of the place
	env     []string // of the client
	// guard gives the place back, also if this process is killed; nil: the user had the place before, and
	// keeps it.
	guard *command.Piped
	who   string
}

// found is what a place has: the first of each kind.
type found struct {
	name           string
	ssh, console   *Place
	power          string // the class of the resource
	otherResources []string
}

const (
	clientProgram = "labgrid-client"
	// clientLimit is for a command of the client.
	clientLimit = 3 * time.Minute
)

// switches are the classes of resources by which the client switches power.
var switches = []string{"NetworkPowerPort", "NetworkUSBPowerPort", "NetworkSiSPMPowerPort", "PDUDaemonPort", "TasmotaPowerPort", "NetworkYKUSHPowerPort", "NetworkSysfsGPIO"}

// guardScript waits for the end of its input, whose last line is the name of the place, "" if it was not
// acquired, and has the client $1 give it back if user $2 still has it.
const guardScript = `exec 2>&1
trap "" HUP INT TERM
place=$3
while read -r line; do place=$line; done
[ -z "$place" ] || "$1" -p "$place" release-from "$2"
echo "exit status $?"`

// lend acquires a place, unless the user has it already. Errors are *result.Failure, or of the context.
func lend(ctx context.Context, pattern string) (*lease, found, error) {
	program, err := command.Look(clientProgram)
	if err != nil {
		return nil, found{}, result.Fail(result.LabFailed, "pipx install labgrid, with the directory of its programs in PATH", "machine labgrid:%s needs the program %s, which is not installed", pattern, clientProgram)
	}
	l := &lease{program: program, name: pattern, env: []string{"LG_ENV=", "LG_STATE=", "LG_INITIAL_STATE=", "STATE="}}
	has, err := l.resources(ctx)
	if err == nil {
		l.name = has.name
		return l, has, nil
	}
	if f := result.FailureOf(err); f == nil || !strings.Contains(f.Reason, "acquired") {
		return nil, has, err
	}
	if err = l.acquire(ctx); err != nil {
		return nil, has, err
	}
	if has, err = l.resources(ctx); err != nil {
		return nil, has, errors.Join(err, l.giveBack())
	}
	return l, has, nil
}

// acquire acquires the place as a user of its own: so it is given back only as long as it is this one who has
// it, and another whichfs of the same user does not take it for its own.
func (l *lease) acquire(ctx context.Context) error {
	fail := func(err error) error {
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot acquire place " + l.name + " of labgrid", Err: err}
	}
	host, name, err := labgridUser()
	if err != nil {
		return fail(err)
	}
	name += ".whichfs-" + strings.ToLower(rand.Text()[:8])
	l.who, l.env = host+"/"+name, append(l.env, "LG_HOSTNAME="+host, "LG_USERNAME="+name)
	if l.guard, err = command.StartPiped(command.Options{Env: l.env}, "setsid", "-f", "sh", "-c", guardScript, "sh", l.program, l.who, l.name); err != nil {
		return fail(err)
	}
	if _, err = l.client(ctx, "acquire"); err == nil {
		return nil
	}
	if result.FailureOf(err) != nil { // it has answered
		_, _ = fmt.Fprintln(l.guard.In)
	}
	_ = l.giveBack() // there may be nothing to give back
	return err
}

// labgridUser are host and user as the client knows them.
func labgridUser() (host, name string, err error) {
	if host = os.Getenv("LG_HOSTNAME"); host == "" {
		if host, err = os.Hostname(); err != nil {
			return "", "", err
		}
	}
	if name = os.Getenv("LG_USERNAME"); name == "" {
		me, err := user.Current()
		if err != nil {
			return "", "", err
		}
		name = me.Username
	}
	return host, name, nil
}

// client carries out a command of the client.
func (l *lease) client(ctx context.Context, words ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, clientLimit, fmt.Errorf("it has not ended after %v", clientLimit))
	defer cancel()
	r, err := command.Run(limited, command.Options{Env: l.env}, slices.Concat([]string{l.program, "-p", l.name}, words)...)
	switch {
	case ctx.Err() != nil:
		return "", machine.Canceled(ctx)
	case err != nil:
		return "", l.explain(err, strings.TrimSpace(r.Stderr))
	}
	return r.Stdout, nil
}

// explain makes a failure of what the client said.
func (l *lease) explain(err error, said string) error {
	text := said[strings.LastIndexByte(said, '\n')+1:]
	text = strings.TrimPrefix(text, clientProgram+": Error: ")
	list := "labgrid-client places lists them"
	switch {
	case strings.Contains(said, "connect to coordinator"):
		return result.Fail(result.LabFailed, "name it: export LG_COORDINATOR=HOST:PORT; by hand: labgrid-client places", "the coordinator of labgrid cannot be reached, which lends place %s", l.name)
	case strings.Contains(text, "is already acquired by"):
		return result.Refuse("wait until it is given back: labgrid-client -p "+l.name+" show; or take another: labgrid-client places --released", "place %s of labgrid is not free: %s", l.name, text)
	case strings.Contains(text, "matches nothing"):
		return result.Refuse(list, "labgrid has no place %s", l.name)
	case strings.Contains(text, "matches multiple places"):
		return result.Refuse("name one of them", "labgrid has several such places: %s", text)
	case text == "":
		return &result.Failure{Outcome: result.LabFailed, Reason: "place " + l.name + " of labgrid", Err: err}
	}
	return result.Refuse("by hand: labgrid-client -p "+l.name+" show", "place %s of labgrid: %s", l.name, text)
}

// resources are those of the place, which must be acquired.
func (l *lease) resources(ctx context.Context) (found, error) {
	said, err := l.client(ctx, "env")
	if err != nil {
		return found{}, err
	}
	has, err := readPlaceOf(said)
	if err != nil {
		return has, &result.Failure{Outcome: result.LabFailed, Reason: "the description of place " + l.name + " by labgrid-client makes no sense", Err: err}
	}
	return has, nil
}

// readPlaceOf reads what the client says of a place.
func readPlaceOf(text string) (has found, err error) {
	var said struct {
		Targets map[string]struct {
			Resources []map[string]yaml.Node `yaml:"resources"`
		} `yaml:"targets"`
	}
	if err := yaml.Unmarshal([]byte(text), &said); err != nil {
		return has, err
	}
	if len(said.Targets) != 1 {
		return has, fmt.Errorf("it has %d targets", len(said.Targets))
	}
	for name, target := range said.Targets {
		has.name = name
		for _, one := range target.Resources {
			for class, node := range one {
				if err := has.add(class, node); err != nil {
					return has, fmt.Errorf("%s: %w", class, err)
				}
			}
		}
	}
	return has, nil
}

// add adds a resource.
func (f *found) add(class string, node yaml.Node) error {
	var r struct {
		Address  string `yaml:"address"`
		Username string `yaml:"username"`
		Host     string `yaml:"host"`
		Port     int    `yaml:"port"`
		Protocol string `yaml:"protocol"`
		Speed    int    `yaml:"speed"`
	}
	switch {
	case class == "NetworkService" && f.ssh == nil:
		if err := node.Decode(&r); err != nil {
			return err
		}
		address := r.Address
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		p, err := Parse("ssh:" + r.Username + "@" + address + ":" + strconv.Itoa(max(r.Port, 22)))
		if err != nil {
			return err
		}
		if r.Port == 0 || r.Port == 22 { // which ~/.ssh/config may change
			p.Port = ""
		}
		f.ssh = &p
	case class == "NetworkSerialPort" && f.console == nil:
		if err := node.Decode(&r); err != nil {
			return err
		}
		if r.Host == "" || r.Port == 0 || r.Protocol != "" && r.Protocol != "raw" && r.Protocol != "rfc2217" {
			return fmt.Errorf("host %q, port %d, protocol %q", r.Host, r.Port, r.Protocol)
		}
		if r.Speed == 0 {
			r.Speed = usualBaud
		}
		f.console = &Place{Net: net.JoinHostPort(r.Host, strconv.Itoa(r.Port)), Telnet: r.Protocol != "raw", Baud: r.Speed}
	case slices.Contains(switches, class) && f.power == "":
		f.power = class
	default:
		f.otherResources = append(f.otherResources, class)
	}
	return nil
}

// lost reports whether the coordinator has forgotten whose the place is, as it does when it is started again.
// An error says who else has it.
func (l *lease) lost(ctx context.Context) (bool, error) {
	_, err := l.resources(ctx)
	f := result.FailureOf(err)
	return l.guard != nil && f != nil && strings.HasSuffix(f.Reason, "is not acquired"), err
}

// giveBack releases the place, if it was free before and is still ours.
func (l *lease) giveBack() error {
	g := l.guard
	if g == nil {
		return nil
	}
	l.guard = nil
	fail := func(err error) error {
		return &result.Failure{Outcome: result.LabFailed, Reason: "place " + l.name + " of labgrid could not be given back", Err: err,
			Hint: "by hand: labgrid-client -p " + l.name + " release-from " + l.who}
	}
	_ = g.Out.SetReadDeadline(time.Now().Add(clientLimit)) // a pipe takes it
	said, err := "", g.In.Close()
	if err == nil {
		var text []byte
		text, err = io.ReadAll(g.Out)
		said = strings.TrimSpace(string(text))
	}
	err = errors.Join(err, g.Out.Close())
	if err != nil {
		return fail(err)
	}
	if words := strings.Fields(said); len(words) < 2 || words[len(words)-1] != "0" {
		return fail(errors.New(strings.Join(words, " ")))
	}
	return nil
}
