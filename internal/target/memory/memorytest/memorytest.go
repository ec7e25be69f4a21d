// Package memorytest checks archives of trees.
package memorytest

import (
	"bytes"
	"testing"

	"whichfs/internal/plan/tree"
	"whichfs/internal/target/memory"
)

// Loadable fails the test unless the agent accepts an archive, and finds in it what info says.
func Loadable(t testing.TB, info tree.Info, archive []byte) {
	t.Helper()
	got, err := memory.LoadTree("tree", bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatalf("the agent rejects it: %v", err)
	}
	defer got.Close() //nolint:errcheck // memory
	if got.Digest != info.Digest || got.Files != info.Files || got.Bytes != info.Size {
		t.Errorf("the agent sees %d files, %d B, %s; the host %d, %d B, %s",
			got.Files, got.Bytes, got.Digest, info.Files, info.Size, info.Digest)
	}
}
