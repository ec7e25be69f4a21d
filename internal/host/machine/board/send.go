package board

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"whichfs/internal/result"
)

// item is a file of this host that a session needs in the directory on the board.
type item struct {
	path string
	size int64
	name string // in the directory
	// beside is what follows the agent's path in the name of the file in which the board keeps it.
	beside string
	// what it is, and in full, for whoever waits.
	what, full string
}

// kept copies file $2, if the board has it, to file $3, and prints its digest, which $4 computes.
var kept = oneLine(paths + `
	umask 077;
	mark=$1; from=$2; file=$3;
	set -- $4;
	echo; echo "$mark";
	[ ! -f "$from" ] || { cp "$from" "$file" && chmod 700 "$file" && "$@" "$file"; } || rm -f "$file";`)

// keeping copies file $2 to file $3, which is whole before it has that name.
var keeping = oneLine(paths + `
	umask 077;
	cat "$2" >"$3~" && sync && mv "$3~" "$3" && sync || { rm -f "$3~"; exit 1; };
	echo; echo "$1";`)

// bring puts an item into the directory: where the board keeps its agent, it keeps the item beside it, and need be sent it
// only once. Another run's is overwritten. had: the board had it.
func (s *session) bring(ctx context.Context, i item) (digest string, had bool, err error) {
	l, to, at := s.line, in(s.line.dir, i.name), ""
	if keeps := s.machine.file.Agent; keeps != "" {
		at = keeps + i.beside
		said, err := l.carry(ctx, nil, kept, at, to, l.digester(in(l.dir, agentName)))
		if err != nil {
			return "", false, l.failed("looking for "+at, err)
		}
		if got, _, _ := strings.Cut(said, " "); got != "" {
			if digest, err = digestOf(i.path); err != nil || got == digest {
				return digest, err == nil, err
			}
		}
	}
	text := fmt.Sprintf("sending %s (%s) to %s", i.full, megabytes(i.size), l.place.Name)
	if l.place.serial() { // it is packed, by how much is not known before
		text += ": at most about " + lasting(int(i.size), l.place.Baud)
	}
	l.o.Progress(text)
	if digest, err = l.send(ctx, i.path, i.size, i.name, i.what); err != nil || at == "" {
		return digest, false, err
	}
	_, err = l.carry(ctx, nil, keeping, to, at)
	if there, ok := errors.AsType[*remoteError](err); ok { // the next session sends it again
		l.o.Progress(fmt.Sprintf("%s cannot keep it as %s: %v", l.place.Name, at, there))
		err = nil
	}
	return digest, false, err
}

// megabytes is a size as it is told.
func megabytes(size int64) string { return fmt.Sprintf("%.1f MB", float64(size)/1e6) }

// told is how often progress is reported.
const told = 20 * time.Second

// telling returns what is told how much of something has been sent, in bytes, and says so now and then.
func telling(o Options, what string, to Place, size int64) func(done int64) {
	begun := time.Now()
	last := begun
	return func(done int64) {
		if time.Since(last) < told || done == 0 || done == size {
			return
		}
		last = time.Now()
		left := time.Duration(float64(time.Since(begun)) / float64(done) * float64(size-done))
		o.Progress(fmt.Sprintf("sending %s to %s: %d %%, about %v left", what, to.Name, 100*done/size, left.Round(time.Second)))
	}
}

// watched is a reader that tells how much was read.
type watched struct {
	io.Reader
	done int64
	tell func(done int64)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.done += int64(n)
	w.tell(w.done)
	return n, err
}

// send writes the first size bytes of a file of this host into the directory on the board, and checks
// what arrived. It returns the digest.
func (l *line) send(ctx context.Context, path string, size int64, name, what string) (digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot send " + name + " to " + l.place.Name, Err: err}
	}
	defer f.Close() //nolint:errcheck // read only
	hash := sha256.New()
	var content io.Reader = &watched{Reader: io.TeeReader(io.LimitReader(f, size), hash), tell: telling(l.o, what, l.place, size)}
	unpack := l.unpacker()
	packed := content
	var all chan error
	if unpack != "none" {
		packed, all = pack(content, l.level())
	}
	to := in(l.dir, name)
	said, err := l.carry(ctx, packed, receive, to, unpack, l.digester(in(l.dir, agentName)))
	if all != nil {
		_ = packed.(*io.PipeReader).Close() // the board may not have read all
		bad := <-all
		if errors.Is(bad, io.ErrClosedPipe) {
			bad = &remoteError{said: "it stopped reading before the end"}
		}
		if err == nil {
			err = bad
		}
	}
	if err != nil {
		return "", l.unsent(name, err)
	}
	digest = fmt.Sprintf("%x", hash.Sum(nil))
	if got, _, _ := strings.Cut(said, " "); got != digest {
		return "", l.damaged(name, fmt.Errorf("its SHA-256 is %.64q and should be %s", got, digest))
	}
	return digest, nil
}

// smallest is for lines that are slow.
const smallest = gzip.BestCompression

func (l *line) level() int {
	if l.place.serial() {
		return smallest
	}
	return gzip.BestSpeed
}

// pack compresses what it reads, in the background; the channel then has how that ended. The caller
// closes the reader.
func pack(r io.Reader, level int) (*io.PipeReader, chan error) {
	packed, w := io.Pipe()
	over := make(chan error, 1)
	go func() {
		z, err := gzip.NewWriterLevel(w, level)
		if err == nil {
			_, err = io.Copy(z, r)
			err = errors.Join(err, z.Close())
		}
		_ = w.CloseWithError(err)
		over <- err
	}()
	return packed, over
}

// unsent explains why a file is not on the board.
func (l *line) unsent(name string, err error) error {
	there, ok := errors.AsType[*remoteError](err)
	switch {
	case !ok:
		return err
	case strings.Contains(there.said, "No space left"):
		return result.Refuse("free some, or use less data (--quick, --data)",
			"the board's filesystem in memory is full: %s of %s did not fit (%v)", name, l.place.Name, there)
	}
	return l.damaged(name, there)
}

func (l *line) damaged(name string, err error) error {
	return &result.Failure{Outcome: result.LabFailed, Reason: name + " did not arrive intact on " + l.place.Name, Err: err, Console: l.words.Last()}
}
