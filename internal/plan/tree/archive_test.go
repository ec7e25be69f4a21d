package tree

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var ctx = context.Background()

// broken fails while it is read, like a bad disk.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, unix.EIO }
func (broken) Close() error             { return nil }

func TestStorageFailsWhilePacked(t *testing.T) {
	bad := Entry{Path: "photo", Kind: '0', Size: 10, Open: func() (io.ReadCloser, error) { return broken{}, nil }}
	_, err := Write(ctx, io.Discard, []Entry{bad}, nil)
	if !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), `cannot read "photo": input/output error; its storage fails`) {
		t.Errorf("error %v", err)
	}
}

// A file that shrinks between listing and reading must not become an archive
// with invented bytes, and one that vanishes must be named.
func TestFileChangesWhilePacked(t *testing.T) {
	shorter := Entry{Path: "log", Kind: tar.TypeReg, Size: 10, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("short")), nil
	}}
	if _, err := Write(ctx, io.Discard, []Entry{shorter}, nil); err == nil || !strings.Contains(err.Error(), `"log" became shorter`) {
		t.Errorf("shorter: %v", err)
	}
	gone := Entry{Path: "secret", Kind: tar.TypeReg, Size: 1, Open: func() (io.ReadCloser, error) { return nil, os.ErrPermission }}
	if _, err := Write(ctx, io.Discard, []Entry{gone}, nil); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), `"secret"`) {
		t.Errorf("unreadable: %v", err)
	}
}
