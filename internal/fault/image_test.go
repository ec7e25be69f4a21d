package fault

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func encodedImage(t testing.TB, im Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := im.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// disk returns a few blocks of noise, the last one shorter than a block.
func disk() []byte {
	b := make([]byte, 300*BlockSize+100)
	r := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{0, 1, 7, 255, 256, 299} {
		r.Read(b[n*BlockSize:][:BlockSize/2]) //nolint:errcheck // never fails
	}
	b[300*BlockSize+99] = 1
	return b
}

func TestImageRoundTrip(t *testing.T) {
	b := disk()
	im := FromBytes(b)
	if len(im.Blocks) != 7 {
		t.Errorf("%d blocks, want 7", len(im.Blocks))
	}
	read, err := ReadImage(bytes.NewReader(b), int64(len(b)))
	if err != nil || !read.Equal(im) {
		t.Errorf("read from a file: error %v, or another image", err)
	}
	file := encodedImage(t, im)
	if len(file) > 14<<10 {
		t.Errorf("the file has %d bytes for %d of noise", len(file), 6*BlockSize/2)
	}
	for _, want := range []Image{im, {}, {Size: 1 << 60, Blocks: map[int64][]byte{1<<48 - 1: im.Blocks[0]}}} {
		got, err := DecodeImage(bytes.NewReader(encodedImage(t, want)))
		if err != nil || !got.Equal(want) || !want.Equal(got) {
			t.Errorf("a disk of %d bytes: error %v, or another image", want.Size, err)
		}
	}
	if !bytes.Equal(file, encodedImage(t, im)) {
		t.Error("the same image twice is not the same file")
	}
}

func TestImageEqual(t *testing.T) {
	im := FromBytes(disk())
	c := im.Clone()
	c.Blocks[5] = make([]byte, BlockSize) // zeros equal a missing block
	if !im.Equal(c) || !c.Equal(im) {
		t.Error("a clone with a block of zeros differs")
	}
	if !bytes.Equal(encodedImage(t, c), encodedImage(t, im)) {
		t.Error("a block of zeros is in the file")
	}
	c.Blocks[7][0]++
	if im.Equal(c) || c.Equal(im) {
		t.Error("a changed byte goes unnoticed, or the clone shares its blocks")
	}
	c = im.Clone()
	delete(c.Blocks, 7)
	if im.Equal(c) || c.Equal(im) {
		t.Error("a missing block goes unnoticed")
	}
	c = im.Clone()
	c.Size++
	if im.Equal(c) {
		t.Error("a different size goes unnoticed")
	}
}

func TestReadImageFails(t *testing.T) {
	if _, err := ReadImage(strings.NewReader("short"), BlockSize); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a disk shorter than its stated size: %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, im := range map[string]Image{
		"short block":   {Size: BlockSize, Blocks: map[int64][]byte{0: {1}}},
		"behind end":    {Size: BlockSize, Blocks: map[int64][]byte{1: disk()[:BlockSize]}},
		"negative":      {Size: BlockSize, Blocks: map[int64][]byte{-1: disk()[:BlockSize]}},
		"negative size": {Size: -1},
	} {
		if err := im.Encode(io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A truncated file is an error at every length. A flipped bit is an error unless
// the bit has no meaning (gzip's time, padding in its blocks).
func TestImageDamage(t *testing.T) {
	whole := Image{Size: 1 << 20, Blocks: map[int64][]byte{9: bytes.Repeat([]byte("whichfs "), BlockSize/8)}}
	file := encodedImage(t, whole)
	for n := range file {
		if _, err := DecodeImage(bytes.NewReader(file[:n])); !errors.Is(err, errImage) || !strings.Contains(err.Error(), "it ends") {
			t.Fatalf("cut at %d of %d: %v", n, len(file), err)
		}
	}
	silent := 0
	for bit := range 8 * len(file) {
		bad := bytes.Clone(file)
		bad[bit/8] ^= 1 << (bit % 8)
		im, err := DecodeImage(bytes.NewReader(bad))
		if err != nil {
			continue
		}
		silent++
		if !im.Equal(whole) {
			t.Fatalf("bit %d of %d changed: a different image without an error", bit, 8*len(file))
		}
	}
	if silent > 64 {
		t.Errorf("%d bits mean nothing", silent)
	}
	if _, err := DecodeImage(bytes.NewReader(append(file, 0))); err == nil || !strings.Contains(err.Error(), "follows") {
		t.Errorf("trailing data: %v", err)
	}
	if _, err := DecodeImage(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(file)))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if _, err := DecodeImage(strings.NewReader("#!/bin/sh\necho hello\n")); err == nil || !strings.Contains(err.Error(), `"#!/bin/sh\necho`) {
		t.Errorf("another file: %v", err)
	}
}

// Absurd numbers with a valid checksum.
func TestImageNonsense(t *testing.T) {
	for says, head := range map[string][]uint64{
		"2 blocks on a disk of 4096 bytes":        {4096, 2},
		"block 1 of 1 is beyond the end":          {8192, 1, 2},
		"18446744073709551615 blocks on a disk":   {1 << 62, 1<<64 - 1},
		"on a disk of 18446744073709551615 bytes": {1<<64 - 1, 1},
		"it ends at block 1 of ":                  {1 << 62, 1 << 10},
		"it ends at the number of blocks":         {1 << 62},
	} {
		var b, body bytes.Buffer
		for _, n := range head {
			body.Write(binary.AppendUvarint(nil, n))
		}
		if len(head) == 3 {
			body.Write(disk()[:BlockSize])
		}
		b.WriteString(imageMagic)
		z := gzip.NewWriter(&b)
		if _, err := body.WriteTo(z); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeImage(&b); !errors.Is(err, errImage) || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one with %q", err, says)
		}
	}
}

// A file of a few KiB that claims more blocks than fit into memory is refused
// before it is unpacked, and an image that could not be read back is not written.
func TestImageOfTooMuch(t *testing.T) {
	const blocks = MostImage/BlockSize + 1
	var b bytes.Buffer
	b.WriteString(imageMagic)
	z := gzip.NewWriter(&b)
	_, _ = z.Write(binary.AppendUvarint(binary.AppendUvarint(nil, 1<<50), blocks))
	_, _ = z.Write(make([]byte, 1<<20)) // and so on
	_ = z.Close()
	want := "the image holds 262145 blocks of 4096 bytes: more than 1024 MiB"
	if _, err := DecodeImage(&b); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	im := Image{Size: 1 << 50, Blocks: map[int64][]byte{}}
	one := bytes.Repeat([]byte{1}, BlockSize)
	for n := range int64(blocks) {
		im.Blocks[n] = one
	}
	if err := im.Encode(io.Discard); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func FuzzDecodeImage(f *testing.F) {
	f.Add(encodedImage(f, FromBytes(disk())))
	f.Add(encodedImage(f, Image{Size: 1 << 40, Blocks: map[int64][]byte{1 << 20: bytes.Repeat([]byte{1}, BlockSize)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		im, err := DecodeImage(bytes.NewReader(b))
		if err != nil {
			if len(im.Blocks) > 0 {
				t.Fatal("part of a damaged image")
			}
			return
		}
		again, err := DecodeImage(bytes.NewReader(encodedImage(t, im)))
		if err != nil || !again.Equal(im) {
			t.Fatalf("written and read again: %v, or another image", err)
		}
	})
}
