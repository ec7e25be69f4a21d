package board

import (
	"cmp"
	"context"
	"crypto/md5" // it is what boards have, and finds what a line has damaged
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
)

// patience is how long to wait for a console.
type patience struct {
	// console is for a prompt to appear: a board may be starting, or an agent of an earlier session
	// may have to notice first that its host is gone.
	console time.Duration
	// mute is for the first character.
	mute time.Duration
	// start is what counts as quiet of a board that starts: to probe devices may take that long, and
	// what is typed meanwhile may stop its boot loader.
	start time.Duration
}

var usualPatience = patience{console: 4 * time.Minute, mute: 40 * time.Second, start: 8 * time.Second}

const (
	// hush is what counts as quiet, and is longer than the steps of a boot loader's countdown.
	hush = 1200 * time.Millisecond
	// answerLimit is for the answer of a shell that has little to do.
	answerLimit = 5 * time.Second
)

// Names of environment variables with the login of a serial console.
const (
	userVariable     = "WHICHFS_SERIAL_USER"
	passwordVariable = "WHICHFS_SERIAL_PASSWORD"
	fileVariable     = "WHICHFS_SERIAL_PASSWORD_FILE"
)

var (
	// kernelLine is a message of the kernel, which may be in the middle of anything else.
	kernelLine = regexp.MustCompile(`\[ *\d+\.\d{6}\](?:\[[^\]\n]*\])? [^\n]*(?:\n|$)`)
	// begunLine may become one.
	begunLine  = regexp.MustCompile(`\[[ \d.]*\]?$`)
	loginAsked = regexp.MustCompile(`(?i)login: *$`)
	// In other languages, too.
	passwordAsked = regexp.MustCompile(`(?i)(password|passwort|mot de passe|contraseña|senha)[^\n]{0,20}: *$`)
	loginDenied   = regexp.MustCompile(`(?i)(login incorrect|authentication failure|permission denied|login:) *$`)
	enterAsked    = regexp.MustCompile(`(?i)press enter[^\n]*$`) // of BusyBox's init
	countdown     = regexp.MustCompile(`(?i)stop autoboot[^\n]*$`)
	bootLoader    = regexp.MustCompile(`(?m)^(U-Boot|[a-zA-Z0-9_-]*)=?> $|^barebox[^\n]*:/ $`)
	// ourFrame is of an agent, and ourReader of a shell, that an earlier session has left.
	ourFrame  = regexp.MustCompile(`~[A-Za-z0-9+/]{16,}\.`)
	ourReader = regexp.MustCompile(`whichfs-[a-z2-7]+ x 1 `)
)

// entry is how a shell on a board's console is found.
type entry struct {
	login  Login
	loader Loader
	agent  string // where the board keeps it; "": in memory
	known  known
	patience
}

// known is what sessions have seen of a board's console, for those that follow.
type known struct {
	mu sync.Mutex
	// prompt is the last line of a shell that waits; "": none was seen.
	prompt string
	// starts: the board was switched on or has restarted, and no shell was found since.
	starts bool
}

func (k *known) restarts() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starts = true
}

// found notes a shell, and its prompt unless that is known.
func (k *known) found(prompt string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starts = false
	if prompt != "" {
		k.prompt = prompt
	}
}

// starting reports whether the board is.
func (k *known) starting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.starts
}

// shown reports whether a text ends with the prompt.
func (k *known) shown(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prompt != "" && text[strings.LastIndexByte(text, '\n')+1:] == k.prompt
}

// console is the shell of a board at a serial port.
type console struct {
	*port
	place    Place
	words    *machine.Lines
	progress func(string)
	entry    *entry

	// loggedIn: the login is ours, so it is ended.
	loggedIn bool
	// restarts: the board has, since the reader was started.
	restarts bool
	// mark is in every answer of the reader; "": it does not run.
	mark   string
	number int
}

// plainText removes what the kernel has said between.
func plainText(text string) string {
	return begunLine.ReplaceAllString(kernelLine.ReplaceAllString(strings.ReplaceAll(text, "\r", ""), ""), "")
}

// keep adds what arrives to the board's console, and forgets it.
func (c *console) keep() {
	text, _ := c.so()
	c.restarts = c.restarts || c.mark != "" && restarted.MatchString(text)
	for one := range strings.Lines(strings.ReplaceAll(text, "\r", "")) {
		if one = strings.TrimSpace(one); one != "" && (c.mark == "" || kernelLine.MatchString(one)) {
			c.words.Add(one)
		}
	}
	c.drop()
}

func (c *console) failure(outcome result.Outcome, hint, format string, more ...any) error {
	c.keep()
	return &result.Failure{Outcome: outcome, Reason: fmt.Sprintf(format, more...), Hint: hint, Console: c.words.Last()}
}

// typed writes what a user would type.
func (c *console) typed(text string) error {
	if _, err := c.Write([]byte(text)); err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot write to " + c.place.port(), Err: err}
	}
	return nil
}

// answer types a line and returns what comes back: until it is quiet or asks for something.
func (c *console) answer(ctx context.Context, line string, within time.Duration) (string, error) {
	c.keep()
	if err := c.typed(line + "\n"); err != nil {
		return "", err
	}
	text, err := c.quiet(ctx, hush/2, within, func(text string) bool {
		text = plainText(text)
		return c.waits(text) || passwordAsked.MatchString(text)
	})
	return plainText(text), c.lost(err)
}

// waits reports whether a console that has said this is known to wait for input.
func (c *console) waits(text string) bool {
	return c.asksLogin(text) || enterAsked.MatchString(text) || c.entry.known.shown(text) || c.inLoader(text)
}

// ends reports whether a text ends with a prompt, whatever blanks follow.
func ends(text, prompt string) bool {
	return prompt != "" && strings.HasSuffix(strings.TrimRight(text, " "), strings.TrimRight(prompt, " "))
}

// asksLogin reports whether a console that has said this asks for a user.
func (c *console) asksLogin(text string) bool {
	return loginAsked.MatchString(text) || ends(text, c.entry.login.Prompt)
}

// inLoader reports whether a console that has said this is that of a boot loader.
func (c *console) inLoader(text string) bool {
	p := c.entry.loader.Prompt
	return p != "" && ends(text[strings.LastIndexByte(text, '\n')+1:], p) || bootLoader.MatchString(text)
}

// lost is the failure of a port.
func (c *console) lost(err error) error {
	if err == nil || result.FailureOf(err) != nil || c.err == nil {
		return err
	}
	return c.failure(result.LabFailed, "is the adapter plugged in?", "the connection to %s was lost: %v", c.place.Name, err)
}

// login finds a shell, and logs in if that takes it.
func (c *console) login(ctx context.Context) error {
	begun := time.Now()
	anything, told := false, false
	garbled, loaded := 0, 0
	for time.Since(begun) < c.entry.console {
		// While a board starts, what is typed may stop its boot loader.
		pause, limit := hush, 20*time.Second
		if c.entry.known.starting() {
			pause, limit = c.entry.start, c.entry.console-time.Since(begun)
		}
		said, err := c.quiet(ctx, pause, limit, func(text string) bool { return c.waits(plainText(text)) })
		if err != nil {
			return c.lost(err)
		}
		anything = anything || said != ""
		if countdown.MatchString(plainText(said)) {
			continue
		}
		text, before := plainText(said), ""
		if !c.asksLogin(text) && !c.entry.known.shown(text) && !c.inLoader(text) {
			before = text
			if text, err = c.answer(ctx, "", answerLimit); err != nil {
				return err
			}
		}
		anything = anything || text != ""
		switch {
		case text == "" && !ourFrame.MatchString(before):
			if !anything && time.Since(begun) > c.entry.mute {
				return c.failure(result.LabFailed, fmt.Sprintf("is the board on, is it the right port, are RX and TX crossed, is its speed %d baud? By hand: %s", c.place.Baud, c.place.typed()),
					"nothing arrives from machine %s", c.place.Name)
			}
			continue
		case ourFrame.MatchString(before + text):
			if !told {
				c.progress("the agent of an earlier session still has the console of " + c.place.Name + ": waiting until it notices that its host is gone")
			}
			told = true
			continue
		case ourReader.MatchString(text):
			if err := c.typed("\x03\nq q q\n"); err != nil {
				return err
			}
			continue
		case unreadable(text):
			if garbled++; garbled > 3 {
				return c.failure(result.Refused, c.place.otherSpeed(), "what arrives from machine %s is not text: its speed is not %d baud", c.place.Name, c.place.Baud)
			}
			continue
		case c.inLoader(text):
			if loaded++; len(c.entry.loader.Boot) == 0 || loaded > 2 {
				return c.failure(result.Refused, "start its system by hand, usually with: boot; or name what is to be typed, in the section boot_loader of the board's file (docs/boards.md)", "the board of machine %s is in its boot loader", c.place.Name)
			}
			if err := c.load(ctx, c.entry.loader.Boot); err != nil {
				return err
			}
			continue
		case c.asksLogin(text):
			if err := c.logIn(ctx); err != nil {
				return err
			}
		case passwordAsked.MatchString(text):
			continue // of a login that somebody has begun; it is refused
		}
		is, err := c.isShell(ctx)
		if is && err == nil {
			err = c.learn(ctx)
		}
		if is || err != nil {
			return err
		}
	}
	c.keep()
	return c.failure(result.LabFailed, "by hand: "+c.place.typed(), "the console of machine %s shows neither a login nor a shell's prompt; it says: %s", c.place.Name, last(c.words.Last()))
}

// unreadable reports whether most of a text is none.
func unreadable(text string) bool {
	odd := 0
	for _, b := range []byte(text) {
		if b >= 0x80 || b < ' ' && b != '\n' && b != '\t' && b != '\r' && b != 0x1b && b != 7 && b != 8 {
			odd++
		}
	}
	return odd*3 > len(text)
}

// logIn answers the questions of login(1).
func (c *console) logIn(ctx context.Context) error {
	user, password, known, err := c.entry.login.credentials()
	if err != nil {
		return err
	}
	text, err := c.answer(ctx, user, 3*answerLimit)
	if err != nil {
		return err
	}
	if passwordAsked.MatchString(text) {
		if !known {
			return c.failure(result.Refused, "set "+passwordVariable+", or "+fileVariable+" to the path of a file with it; "+userVariable+" is for another user; or name them in the section login of a board's file (docs/boards.md)",
				"machine %s asks for the password of %s", c.place.Name, user)
		}
		if err := c.enter(ctx, password); err != nil {
			return err
		}
		text, _ = c.so()
		text = plainText(text)
	}
	if loginDenied.MatchString(strings.TrimRight(text, " \n")) || c.asksLogin(text) {
		return c.failure(result.Refused, c.entry.login.check(), "machine %s refuses the login of %s", c.place.Name, user)
	}
	c.loggedIn = true
	return nil
}

// enter types a password. A login that refuses it takes its time.
func (c *console) enter(ctx context.Context, password string) error {
	c.keep()
	if err := c.typed(password + "\n"); err != nil {
		return err
	}
	if _, err := c.await(ctx, 6*answerLimit, func(text string) bool { return strings.TrimSpace(plainText(text)) != "" }); err != nil {
		return c.lost(err)
	}
	_, err := c.quiet(ctx, hush/2, answerLimit, func(text string) bool { return c.asksLogin(plainText(text)) })
	return c.lost(err)
}

// check says where a login is written.
func (l Login) check() string {
	switch {
	case l.Variable != "":
		return fmt.Sprintf("check user in %s, and the variable %s", l.file, l.Variable)
	case l.Path != "":
		return fmt.Sprintf("check user in %s, and %s", l.file, l.Path)
	}
	return "check " + userVariable + " and " + passwordVariable + " (or " + fileVariable + ")"
}

// credentials are the user and, if it is known, the password.
func (l Login) credentials() (user, password string, known bool, err error) {
	user = cmp.Or(l.User, os.Getenv(userVariable), "root")
	variable, path, named := passwordVariable, os.Getenv(fileVariable), fileVariable
	if l.Variable != "" || l.Path != "" {
		variable, path, named = l.Variable, l.Path, "password_file"
	}
	password, known = os.LookupEnv(variable)
	if l.Variable != "" && !known {
		return "", "", false, result.Refuse("set it: read -rs "+l.Variable+"; export "+l.Variable, "%s names the variable %s for the password, which is not set", l.file, l.Variable)
	}
	if path != "" && !known {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", "", false, result.Refuse("", "%s: %v", named, err)
		}
		password, _, _ = strings.Cut(string(text), "\n")
		password, known = strings.TrimRight(password, "\r"), true
	}
	if strings.ContainsAny(user+password, "\n\r\x00") {
		return "", "", false, result.Refuse("", "user and password are one line each")
	}
	return user, password, known, nil
}

// isShell has what may be a shell print something that was not typed.
func (c *console) isShell(ctx context.Context) (bool, error) {
	tag := strings.ToLower(rand.Text()[:10])
	c.keep()
	if err := c.typed(` echo whi""chfs-` + tag + "\n"); err != nil {
		return false, err
	}
	is, err := c.await(ctx, answerLimit, func(text string) bool { return strings.Contains(text, "whichfs-"+tag) })
	return is, c.lost(err)
}

// learn keeps the prompt of a shell that has just answered, by which the next session finds it sooner.
func (c *console) learn(ctx context.Context) error {
	if text, _ := c.so(); c.entry.known.shown(plainText(text)) {
		c.entry.known.found("")
		return nil
	}
	text, err := c.quiet(ctx, hush/4, answerLimit/2, func(text string) bool { return c.entry.known.shown(plainText(text)) })
	text = plainText(text)
	c.entry.known.found(text[strings.LastIndexByte(text, '\n')+1:])
	return c.lost(err)
}

// first reads the reader: a shell that edits its lines may take a thousand characters. $1 is the mark of
// answers, and $2 the reader's digest. It is typed into shells in which an exclamation mark means something.
var first = oneLine(`
	s=$(stty -g 2>/dev/null); stty -echo 2>/dev/null; echo;
	if md5sum </dev/null >/dev/null 2>&1; then echo "$1 first"; else echo "$1 none"; fi;
	IFS= read -r x;
	if [ "$(printf %s "$x" | md5sum)" = "$2  -" ]; then eval "$x"; else stty "$s"; echo "$1 damaged"; fi;`)

// reader is what the board's shell runs: it carries out lines and answers each. A line is a number, the
// digest of the text that follows, and the text. One that was damaged is not carried out, and one whose
// answer was lost not a second time. Numbers that begin with v are carried out by this shell itself, and
// z is the last. What a damaged line has left of another must not be a signal or an end. $d is a directory to remove at the end or, with an agent in it, to keep for a while
// as $k, until a later session takes it or keeps its own.
var reader = oneLine(paths + `
	m=$1; d=; k=; h=md5sum; exec 3>&1;
	stty -isig -ixon 2>/dev/null; stty eof undef 2>/dev/null; w=$(stty -g 2>/dev/null);
	t=; (read -r -t 1 x) </dev/null 2>/dev/null; if [ $? = 1 ]; then t="-t 99"; fi;
	r() { a="$m $1 $2 $3"; printf "\n%s %s\n" "$a" "$(printf %s "$a" | $h)"; };
	c() { trap "" INT HUP TERM;
		if [ -x "$d/agent" ]; then rm -rf "$k"; mv "$d" "$k"; echo "$m" >"$k/of";
			(n=0; while [ $n -lt 90 ] && read -r x <"$k/of" && [ "$x" = "$m" ]; do sleep 10; n=$((n+1)); done;
			if read -r x <"$k/of" && [ "$x" = "$m" ]; then rm -rf "$k"; fi) >/dev/null 2>&1 </dev/null 3>&- &
		elif [ -n "$d" ]; then rm -rf "$d"; fi;
		stty "$s" 2>/dev/null; echo; echo "$m bye"; };
	trap "c; exit 1" INT HUP TERM;
	p=; r 0 0;
	while IFS= read -r $t x; do
		n=${x%% *}; x=${x#* }; y=${x%% *}; x=${x#* };
		case $n in q) break;; esac;
		if [ "$(printf %s "$x" | $h)" = "$y  -" ]; then
			if [ "$n" = "$p" ]; then r "$n" $q "$o"; continue; fi;
			p=$n;
			case $n in
				v*) eval "$x"; q=$?; o=;;
				z*) r "$n" 0; eval "$x"; break;;
				*) o=$(eval "$x" 2>&1); q=$?;
					IFS=$(printf "\n|"); set -f; set -- $o; IFS="|"; o="$*"; unset IFS; set +f;;
			esac;
			r "$n" $q "$o";
		else r x 1; fi;
	done;
	c;`)

// startReader starts it.
func (c *console) startReader(ctx context.Context) error {
	mark := "whichfs-" + strings.ToLower(rand.Text()[:10])
	for range 6 {
		c.keep()
		if err := c.typed(` /bin/sh -c '` + first + `' whichfs ` + mark + " " + digest5(reader) + "\n"); err != nil {
			return err
		}
		lacks := false
		is, err := c.await(ctx, 2*answerLimit, func(text string) bool {
			text = plainText(text)
			lacks = strings.Contains(text, mark+" none\n")
			return lacks || strings.Contains(text, mark+" first\n")
		})
		if err == nil && is && !lacks {
			c.keep()
			if err := c.typed(reader + "\n"); err != nil {
				return err
			}
			is, err = c.await(ctx, 2*answerLimit, func(text string) bool {
				return strings.Contains(plainText(text), mark+" 0 0 ") || strings.Contains(text, mark+" damaged")
			})
		}
		text, _ := c.so()
		switch {
		case err != nil:
			return c.lost(err)
		case lacks:
			_ = c.typed("\n") // first reads it
			return c.failure(result.Unsupported, "", "the board of machine %s has no md5sum, which finds what a serial line has damaged", c.place.Name)
		case is && !strings.Contains(text, mark+" damaged"):
			c.mark = mark
			return nil
		}
		if err := c.typed("\x03\n"); err != nil {
			return err
		}
	}
	return c.failure(result.LabFailed, "is the line disturbed? By hand: "+c.place.typed(), "the shell of machine %s does not start /bin/sh", c.place.Name)
}

// heldText is an answer's: what was printed, with | between lines.
type heldText struct {
	status int
	text   string
}

// lines are those that were printed.
func (h heldText) lines() []string { return strings.Split(h.text, "|") }

// mostTries is how often a line is sent.
const mostTries = 12

// ask has the reader carry a line out. kind is "", "v" or "z"; during is called once meanwhile, when the
// board says that it is ready for it, and may be nil.
func (c *console) ask(ctx context.Context, kind, text string, within time.Duration, during func() error) (heldText, error) {
	c.number++
	name := kind + strconv.Itoa(c.number)
	line := name + " " + digest5(text) + " " + text + "\n"
	answered := regexp.MustCompile(`(` + c.mark + ` ` + name + ` (-?\d+) ([^\n]*)) ([0-9a-f]{32})  -`)
	for range mostTries {
		c.keep()
		if err := c.typed(line); err != nil {
			return heldText{}, err
		}
		var got heldText
		var is, again, ready bool
		look := func(text string) bool {
			c.restarts = c.restarts || restarted.MatchString(text) || c.asksLogin(plainText(text))
			text = plainText(text)
			for _, m := range answered.FindAllStringSubmatch(text, -1) {
				if digest5(m[1]) == m[4] {
					got.status, _ = strconv.Atoi(m[2])
					got.text, is = m[3], true
					return true
				}
			}
			again = strings.Contains(text, c.mark+" x 1 ")
			ready = during != nil && strings.Contains(text, c.mark+" go\n")
			return again || ready || c.restarts || kind == "z" && ourFrame.MatchString(text)
		}
		found, err := c.await(ctx, within, look)
		if err == nil && ready && !is {
			c.keep()
			if err = during(); err == nil {
				during = nil
				found, err = c.await(ctx, within, look)
			}
		}
		switch {
		case err != nil:
			return got, c.lost(err)
		case c.restarts && !is:
			c.mark, c.loggedIn = "", false
			c.entry.known.restarts()
			return got, c.failure(result.LabFailed, "", "the board of machine %s has restarted", c.place.Name)
		case is, found && !again:
			return got, nil
		}
		// There may be more of what was damaged, each line of which is answered.
		if _, err := c.quiet(ctx, hush/4, answerLimit/2, func(string) bool { return false }); err != nil {
			return got, c.lost(err)
		}
	}
	return heldText{}, c.failure(result.LabFailed, "is the line disturbed? By hand: "+c.place.typed(), "the shell of machine %s does not answer", c.place.Name)
}

func digest5(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// do has a line carried out that must succeed.
func (c *console) do(ctx context.Context, kind, doing, text string, within time.Duration) (heldText, error) {
	got, err := c.ask(ctx, kind, text, within, nil)
	if err == nil && got.status != 0 {
		if strings.Contains(got.text, "No space left") {
			return got, result.Refuse("free some, or use less data (--quick, --data)", "the filesystem in memory of machine %s is full: %s", c.place.Name, got.text)
		}
		return got, c.failure(result.LabFailed, "", "%s on %s: %s (exit status %d)", doing, c.place.Name, got.text, got.status)
	}
	return got, err
}

// endReader ends the reader, and reports whether it said so. A block that is being received ends after
// some seconds only.
func (c *console) endReader(ctx context.Context) bool {
	for range 8 {
		if c.typed("\x03\nq q q\n") != nil {
			return false
		}
		over, err := c.await(ctx, time.Second, func(text string) bool { return strings.Contains(text, c.mark+" bye") })
		if over || err != nil {
			return over
		}
	}
	return false
}

// logOut ends the login, or whoever comes next finds it.
func (c *console) logOut() {
	ctx := context.Background()
	_, _ = c.quiet(ctx, hush/4, answerLimit/2, func(string) bool { return false }) // the shell may drop what comes earlier
	c.drop()
	if c.typed("\x15exit\n") == nil {
		_, _ = c.await(ctx, answerLimit, func(text string) bool { return c.asksLogin(plainText(text)) })
	}
}
