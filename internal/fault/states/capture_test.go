package states

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// A log of the kernel, among others of ext4 (see writelog's tests): with all writes
// kept, the last state equals the device's contents, and all drawn states agree
// with the oracle.
func TestCapture(t *testing.T) {
	f, err := os.Open("../writelog/testdata/kernel-4096.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	l, err := writelog.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	base := fault.Image{Size: 4 << 20}
	m := NewMaker(base, l)
	changed, last := m.Make(State{Point: len(l.Entries), Kept: Volatile(l, len(l.Entries))})
	sum := sha256.Sum256(made(base, changed))
	if got := hex.EncodeToString(sum[:]); got != "c4da3bdfe538d6fa227438b5ab180d1fb6a0eab661dc9d0780a8a7cf0c970d18" {
		t.Errorf("the last state has the checksum %s", got)
	}
	different := map[Hash]bool{}
	for _, s := range collect(l, Options{Most: 150}) {
		changed, h := m.Make(s)
		if !bytes.Equal(made(base, changed), slowly(base, l, s)) {
			t.Fatalf("%+v has the wrong contents", s)
		}
		different[h] = true
	}
	if len(different) < 75 || !different[last] {
		t.Errorf("%d different states of 150, the last among them: %v", len(different), different[last])
	}
}
