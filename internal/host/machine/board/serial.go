package board

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/command"
	"whichfs/internal/wire/link"
	"whichfs/internal/wire/programs"
)

// serial is the console of a board at a serial port: first its shell, which is sent the agent, and then
// the agent, which takes the console over and runs programs.
type serial struct {
	o     Options
	place Place
	words *machine.Lines

	entry   *entry
	console *console
	about   described
	mark    string // of the console's reader
	at      string // the agent, on the board
	sum     string // its digest
	link    *link.Link
	said    chan struct{} // closed when the board has its console back
	far     *programs.Client
}

func newSerial(place Place, o Options, words *machine.Lines, e *entry) *serial {
	return &serial{place: place, o: o, words: words, entry: e, said: make(chan struct{})}
}

func (s *serial) name() string { return fmt.Sprintf("serial, %d baud", s.place.Baud) }

func (s *serial) resident() (at string, checked bool) { return s.at, true }

func (s *serial) facts() *described { return &s.about }

// open finds a shell, has it start the agent, and speaks with that.
func (s *serial) open(ctx context.Context) error {
	p, err := openPort(ctx, s.place)
	if err != nil {
		return err
	}
	s.console = &console{port: p, place: s.place, words: s.words, progress: s.o.Progress, entry: s.entry}
	err = s.console.login(ctx)
	if err == nil {
		err = s.console.startReader(ctx)
	}
	if err == nil {
		err = s.bringAgent(ctx)
	}
	if err == nil {
		err = s.takeOver(ctx)
	}
	if err != nil && result.FailureOf(err) == nil {
		return fmt.Errorf("connecting to %s was abandoned: %w", s.place.Name, err)
	}
	return err
}

// bringAgent finds the agent on the board, or sends it.
func (s *serial) bringAgent(ctx context.Context) error {
	c := s.console
	got, err := c.do(ctx, "", "describing the board", describing, 4*answerLimit)
	if err != nil {
		return err
	}
	s.about = describe(got.lines())
	arch, err := s.about.goarch()
	if err != nil {
		return err
	}
	path, err := machine.AgentPath(s.o.Agent, arch)
	if err != nil {
		return err
	}
	if s.sum, err = digestOf(path); err != nil {
		return err
	}
	if s.o.Installed != "" {
		return s.useInstalled(ctx, path)
	}
	packed, err := s.pack(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot send the agent", Err: err}
	}
	if err := s.about.afford(info.Size()+int64(len(packed.content))+agentMemory, 0); err != nil {
		return err
	}
	parent, err := s.about.choose(info.Size() + int64(len(packed.content)))
	if err != nil {
		return err
	}
	dir := in(parent, "whichfs-"+strings.ToLower(rand.Text()))
	s.at = in(dir, agentName)
	if _, err := c.do(ctx, "v", "making a directory", fmt.Sprintf("umask 077; k=%s; mkdir %s && d=%s", in(parent, "whichfs-agent-"+s.sum[:16]), dir, dir), answerLimit); err != nil {
		return err
	}
	kept := ""
	if at := s.entry.agent; at != "" {
		kept = fmt.Sprintf(`elif [ -f %[1]s ] && cp %[1]s "$d/agent"; then echo had; `, at)
	}
	had, err := c.do(ctx, "", "looking for the agent", `if [ -f "$k/agent" ] && cp "$k/agent" "$d/agent"; then rm -rf "$k"; echo had; `+kept+`fi`, 12*answerLimit)
	if err != nil {
		return err
	}
	if had.text == "had" && s.intact(ctx) == nil {
		return nil
	}
	if err := s.keeps(ctx, `: >%s~`); err != nil { // before it is sent for minutes
		return err
	}
	s.o.Progress(fmt.Sprintf("sending the agent for %s (%.1f MB packed) to %s: about %s", arch, float64(len(packed.content))/1e6, s.place.Name, lasting(len(packed.content), s.place.Baud)))
	if err := s.sendPacked(ctx, packed.content); err != nil {
		return err
	}
	if _, err := c.do(ctx, "", "unpacking the agent", packed.unpack+` <"$d/p" >"$d/agent" && rm -f "$d/p" "$d/b"`, 24*answerLimit); err != nil {
		return err
	}
	if err := s.intact(ctx); err != nil {
		return err
	}
	// The file is whole before it has the name under which it is found.
	return s.keeps(ctx, `cp "$d/agent" %[1]s~ && sync && mv %[1]s~ %[1]s && sync`)
}

// keeps carries out a command on the file in which the board keeps the agent, if it does.
func (s *serial) keeps(ctx context.Context, command string) error {
	at := s.entry.agent
	if at == "" {
		return nil
	}
	got, err := s.console.ask(ctx, "", fmt.Sprintf(command, at), 24*answerLimit, nil)
	if err == nil && got.status != 0 {
		return result.Refuse("name another file as path in the section agent of the board's file, or leave the section out", "machine %s cannot keep the agent as %s: %s", s.place.Name, at, got.text)
	}
	return err
}

// intact checks the agent in the directory, and makes it a program.
func (s *serial) intact(ctx context.Context) error {
	got, err := s.console.do(ctx, "", "checking the agent", `chmod 700 "$d/agent" && `+s.about.digester(`"$d/agent"`)+` "$d/agent" || { rm -f "$d/agent"; false; }`, 12*answerLimit)
	if err != nil {
		return err
	}
	if digest, _, _ := strings.Cut(got.text, " "); digest != s.sum {
		_, _ = s.console.ask(ctx, "", `rm -f "$d/agent"`, answerLimit, nil) // the directory goes at the end in any case
		return s.console.failure(result.LabFailed, "", "the agent did not arrive intact on %s: its SHA-256 is %.64q and should be %s", s.place.Name, got.text, s.sum)
	}
	return nil
}

// useInstalled checks the agent that the user has put on the board.
func (s *serial) useInstalled(ctx context.Context, path string) error {
	at := s.o.Installed
	if !plain.MatchString(at) {
		return result.Refuse("--agent-path /usr/local/bin/whichfs-agent", "--agent-path %s: a path from the root, of letters, digits and _ . -", at)
	}
	got, err := s.console.ask(ctx, "", s.about.digester(at)+" "+at, 12*answerLimit, nil)
	if err != nil {
		return err
	}
	if got.status != 0 {
		return result.Refuse("copy "+path+" there, or leave --agent-path out: then it is sent", "there is no agent %s on %s: %s", at, s.place.Name, got.text)
	}
	s.at = at
	return (&line{place: s.place}).sameAgent(at, got.text, path, s.sum)
}

// parcel is the agent as it is sent.
type parcel struct {
	content []byte
	unpack  string // the command that unpacks it
}

// pack packs the agent as small as the board can unpack it. What xz makes of it is kept.
func (s *serial) pack(path string) (parcel, error) {
	fail := func(err error) (parcel, error) {
		return parcel{}, &result.Failure{Outcome: result.LabFailed, Reason: "cannot pack the agent", Err: err}
	}
	unpack := ""
	for _, one := range []struct{ program, command string }{{"xz", "xz -dc"}, {"unxz", "unxz -c"}, {"xzcat", "xzcat"}} {
		if unpack == "" && slices.Contains(s.about.has, one.program) {
			unpack = one.command
		}
	}
	if xz, err := command.Look("xz"); err == nil && unpack != "" {
		dir, err := cache.Dir()
		if err != nil {
			return fail(err)
		}
		at := filepath.Join(dir, "agents", s.sum+".xz")
		if content, err := os.ReadFile(at); err == nil {
			return parcel{content, unpack}, nil
		}
		content, err := s.squeeze(path, xz)
		if err != nil {
			return fail(err)
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err == nil { // without it, it is packed again
			if os.WriteFile(at+"~", content, 0o600) == nil {
				_ = os.Rename(at+"~", at)
			}
		}
		return parcel{content, unpack}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close() //nolint:errcheck // read only
	unpack = s.about.unpacker()
	if unpack == "none" {
		content, err := io.ReadAll(f)
		if err != nil {
			return fail(err)
		}
		return parcel{content, "cat"}, nil
	}
	packed, over := pack(f, smallest)
	content, err := io.ReadAll(packed)
	if err = errors.Join(err, <-over); err != nil {
		return fail(err)
	}
	return parcel{content, unpack}, nil
}

// squeeze has xz pack a file. A board needs the dictionary's 8 MiB for it, which is as much as the file.
func (s *serial) squeeze(path, xz string) ([]byte, error) {
	to, err := os.CreateTemp("", "whichfs-agent-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(to.Name()) //nolint:errcheck // a temporary file
	from, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	p, err := command.Start(command.Options{Stdin: from, Stdout: to}, xz, "-c", "--check=crc32", "--lzma2=preset=9e,dict=8MiB")
	if err == nil {
		<-p.Done()
		err = p.Err()
	}
	if err = errors.Join(err, from.Close(), to.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(to.Name())
}

// lasting is how long so many bytes take, as a reader wants it.
func lasting(bytes, baud int) string {
	d := time.Duration(float64(bytes) * 10 / float64(baud) * float64(time.Second)).Round(time.Second)
	return d.String()
}

// Blocks of raw bytes, whose sizes adapt to what the line lets pass.
const (
	mostBlock  = 64 << 10
	leastBlock = 1 << 10
	// mostCoded characters of base64 or octal are in a line; a terminal takes 4095.
	mostCoded = 3000
)

// sendPacked appends bytes to file $d/p.
func (s *serial) sendPacked(ctx context.Context, content []byte) error {
	progress := telling(s.o, "the agent", s.place, int64(len(content)))
	done, err := s.sendRaw(ctx, content, progress)
	if err != nil || done == len(content) {
		return err
	}
	s.o.Progress("the board of " + s.place.Name + " does not receive every byte as it is, so the agent is sent in text, which takes longer")
	return s.sendText(ctx, content, done, progress)
}

// sendRaw sends blocks of bytes as they are, each of which is checked. Where that does not work, it returns
// how many have arrived.
func (s *serial) sendRaw(ctx context.Context, content []byte, progress func(done int64)) (int, error) {
	c := s.console
	able, err := c.ask(ctx, "", `echo ab | head -c 1 && stty "$w"`, answerLimit, nil)
	if err != nil || able.status != 0 || able.text != "a" {
		return 0, err
	}
	// A pause of 5 s ends a block.
	_, err = c.do(ctx, "v", "preparing to receive", `b() { stty raw -echo min 0 time 50 && printf "\n%s go\n" "$m" >&3; head -c $1 >"$d/b"; stty "$w"; $h <"$d/b"; }; : >"$d/p"`, answerLimit)
	if err != nil {
		return 0, err
	}
	perSecond := max(1, s.place.Baud/10)
	most := min(mostBlock, max(leastBlock, 6*perSecond))
	size, failed, before := most, 0, ""
	for done := 0; done < len(content); {
		block := content[done:min(done+size, len(content))]
		within := 3*answerLimit + 2*time.Duration(len(block)/perSecond)*time.Second
		got, err := c.ask(ctx, "", fmt.Sprintf("%sb %d", before, len(block)), within, func() error { return c.typed(string(block)) })
		if err != nil {
			return done, err
		}
		before = ""
		if digest, _, _ := strings.Cut(got.text, " "); digest == digest5(string(block)) {
			done, failed, before = done+len(block), 0, `cat "$d/b" >>"$d/p" && `
			size = min(2*size, most)
			progress(int64(done))
			continue
		}
		if strings.Contains(got.text, "No space left") {
			return done, c.failure(result.Refused, "free some", "the filesystem in memory of machine %s is full", s.place.Name)
		}
		if size = size / 4; size < leastBlock {
			if size, failed = leastBlock, failed+1; failed > 1 {
				return done, nil
			}
		}
	}
	_, err = c.do(ctx, "", "receiving the agent", `cat "$d/b" >>"$d/p"`, answerLimit)
	return len(content), err
}

// sendText sends lines of text that the reader checks.
func (s *serial) sendText(ctx context.Context, content []byte, done int, progress func(done int64)) error {
	c := s.console
	code := octal
	if slices.Contains(s.about.has, "base64") {
		code = func(b []byte) string { return "printf %s " + base64.StdEncoding.EncodeToString(b) + " | base64 -d" }
	}
	for done < len(content) {
		n := min(mostCoded, len(content)-done)
		for n > 1 && len(code(content[done:done+n])) > mostCoded {
			n = n * 3 / 4
		}
		if _, err := c.do(ctx, "", "receiving the agent", code(content[done:done+n])+` >>"$d/p"`, 2*answerLimit); err != nil {
			return err
		}
		done += n
		progress(int64(done))
	}
	return nil
}

// octal is for boards that have nothing else.
func octal(b []byte) string {
	var text strings.Builder
	text.WriteString(`printf "`)
	for _, one := range b {
		if 'a' <= one && one <= 'z' || 'A' <= one && one <= 'Z' || one == ' ' {
			text.WriteByte(one)
		} else {
			fmt.Fprintf(&text, `\%03o`, one)
		}
	}
	text.WriteString(`"`)
	return text.String()
}

// restarted is how the first messages of a kernel or a boot loader begin.
var restarted = regexp.MustCompile(`(?m)Linux version \d|Booting Linux on physical CPU|^U-Boot (SPL )?20\d\d`)

// takeOver has the reader start the agent, and speaks with it.
func (s *serial) takeOver(ctx context.Context) error {
	c := s.console
	key := rand.Text()
	s.mark = c.mark
	text := fmt.Sprintf(`TMPDIR=${d:-/tmp} %s terminal %s %v`, s.at, key, s.silence())
	if _, err := c.ask(ctx, "z", text, 2*answerLimit, nil); err != nil {
		return err
	}
	s.link = link.New(c.port, link.Options{Key: key, Waits: true, Silence: s.silence(), Said: s.heard})
	c.direct(s.link.Feed)
	go func() {
		<-c.over
		_, err := c.so()
		s.link.Fail(err)
	}()
	s.far = programs.NewClient(s.link)
	s.o.Progress("the agent has taken over the console of " + s.place.Name)
	return nil
}

func (s *serial) silence() time.Duration {
	if s.o.Silence != 0 {
		return s.o.Silence
	}
	return silence
}

// heard takes a line of the console. The link waits meanwhile.
func (s *serial) heard(text string) {
	s.words.Add(text)
	switch {
	case restarted.MatchString(text):
		s.entry.known.restarts()
		go s.link.Fail(errors.New("the board has restarted: " + strings.TrimSpace(text)))
	case strings.Contains(text, s.mark+" bye"):
		select {
		case <-s.said:
		default:
			close(s.said)
			go s.ended()
		}
	}
}

// ended notes that the agent has ended, which it does at the end of the link.
func (s *serial) ended() {
	time.Sleep(time.Second) // its last frames came before
	s.link.Fail(errors.New("the agent on the board has ended: " + last(s.words.Last())))
}

// shared is a program at the other end of the link.
type shared struct{ *programs.Process }

func (p shared) streams() (io.WriteCloser, io.ReadCloser) { return p.In, p.Out }

func (s *serial) start(errs io.Writer, argv []string) (process, error) {
	p, err := s.far.Start(errs, argv...)
	if err != nil {
		return nil, s.unable(err)
	}
	return shared{p}, nil
}

func (s *serial) unable(err error) error {
	f := &result.Failure{Outcome: result.LabFailed, Reason: "the connection to " + s.place.Name + " was lost", Err: err, Console: s.words.Last()}
	if why := s.link.Err(); why != nil {
		f.Err = why
	}
	return f
}

func (s *serial) run(ctx context.Context, input io.Reader, argv []string) (command.Result, error) {
	r, err := s.far.Run(ctx, input, argv...)
	if err != nil && s.link.Err() != nil {
		r.Status = 255
	}
	return r, err
}

func (s *serial) refusal(said []string) error {
	f := &result.Failure{Outcome: result.LabFailed, Reason: "the connection to " + s.place.Name + " ended", Console: append(s.words.Last(), said...)}
	if err := s.link.Err(); err != nil {
		f.Err = err
	}
	return f
}

func (s *serial) gone(first process) string {
	if err := s.link.Err(); err != nil {
		return err.Error()
	}
	if err := first.Err(); err != nil {
		return err.Error()
	}
	return "its shell ended"
}

// close ends the agent, leaves the board's shell as it was, and the port.
func (s *serial) close() error {
	c := s.console
	if c == nil {
		return nil
	}
	s.console = nil
	if s.link != nil && s.link.Err() == nil {
		if n := s.link.Counts(); n.Damaged > 0 {
			s.o.Progress(fmt.Sprintf("the line to %s: %d frames were sent, %d of them again; %d arrived, and %d were damaged", s.place.Name, n.Sent, n.Again, n.Arrived, n.Damaged))
		}
	}
	var err error
	back := false // the shell has the console
	switch {
	case s.link != nil && s.link.Err() == nil:
		err = s.link.Close(endPatience)
		timer := time.NewTimer(endPatience)
		select {
		case <-s.said:
			back = true
		case <-timer.C:
			err = errors.Join(err, fmt.Errorf("the agent on %s did not give its console back within %v", s.place.Name, endPatience))
		case <-c.over:
		}
		timer.Stop()
		c.direct(nil)
	case s.link != nil: // it was lost
		_ = s.link.Close(0)
	case c.mark != "":
		back = c.endReader(context.Background())
	default:
		back = true
	}
	if back && c.loggedIn {
		c.logOut()
	}
	return errors.Join(err, c.port.close())
}
