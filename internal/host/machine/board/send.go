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

	"whichfs/internal/result"
)

// send writes the first size bytes of a file of this host into the directory on the board, and checks
// what arrived. It returns the digest.
func (l *line) send(ctx context.Context, path string, size int64, name string) (digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot send " + name + " to " + l.place.Name, Err: err}
	}
	defer f.Close() //nolint:errcheck // read only
	hash := sha256.New()
	content := io.TeeReader(io.LimitReader(f, size), hash)
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
