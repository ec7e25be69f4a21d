// Package rawimage stores the contents of a raw flash chip, page by page with
// the spare bytes, as a stream that shows whether it is complete: it is
// carried from one guest to the next, and half a chip must not pass for a
// filesystem that lost the other half.
package rawimage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// mark begins a stream.
const mark = "whichfs raw chip 1\n"

// ErrDamaged means that a stream differs from what was written.
var ErrDamaged = errors.New("the chip image is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image is the contents of a chip.
type Image struct {
	Pages   int    // per chip
	Bytes   int    // per page, including its spare bytes
	Written []Page // the pages that are not erased, in order
}

// Page is a page that was programmed.
type Page struct {
	Number int
	Data   []byte
}

// header begins a stream, after the mark; all numbers are little-endian.
type header struct{ Pages, Bytes, Written uint32 }

// Write writes the image as a stream.
func (m Image) Write(to io.Writer) error {
	sum := crc32.New(castagnoli)
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	if _, err := w.WriteString(mark); err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, header{uint32(m.Pages), uint32(m.Bytes), uint32(len(m.Written))}); err != nil {
		return err
	}
	var number [4]byte
	for _, p := range m.Written {
		binary.LittleEndian.PutUint32(number[:], uint32(p.Number))
		if _, err := w.Write(number[:]); err != nil {
			return err
		}
		if _, err := w.Write(p.Data); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return binary.Write(to, binary.LittleEndian, sum.Sum32())
}

// Read reads a stream and leaves what follows it unread. It allocates memory
// as the stream arrives, so a damaged length allocates no more than the stream
// holds.
func Read(from io.Reader) (Image, error) {
	damaged := func(format string, args ...any) (Image, error) {
		return Image{}, fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
	}
	sum := crc32.New(castagnoli)
	in := bufio.NewReaderSize(from, 1<<20)
	r := io.TeeReader(in, sum)
	begin := make([]byte, len(mark))
	if _, err := io.ReadFull(r, begin); err != nil || string(begin) != mark {
		return damaged("wrong header (%v)", err)
	}
	var h header
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil {
		return damaged("truncated header: %v", err)
	}
	if h.Bytes == 0 || h.Bytes > 1<<20 || h.Written > h.Pages {
		return damaged("%d of %d pages with %d bytes each", h.Written, h.Pages, h.Bytes)
	}
	m := Image{Pages: int(h.Pages), Bytes: int(h.Bytes)}
	last := -1
	for n := range h.Written {
		var number [4]byte
		data := make([]byte, h.Bytes)
		if _, err := io.ReadFull(r, number[:]); err != nil {
			return damaged("truncated after %d of %d pages: %v", n, h.Written, err)
		}
		if _, err := io.ReadFull(r, data); err != nil {
			return damaged("truncated after %d of %d pages: %v", n, h.Written, err)
		}
		p := Page{Number: int(binary.LittleEndian.Uint32(number[:])), Data: data}
		if p.Number <= last || p.Number >= m.Pages {
			return damaged("page %d of %d follows page %d", p.Number, m.Pages, last)
		}
		m.Written, last = append(m.Written, p), p.Number
	}
	want := sum.Sum32()
	var got uint32
	if err := binary.Read(in, binary.LittleEndian, &got); err != nil || got != want {
		return damaged("checksum mismatch (%v)", err)
	}
	return m, nil
}

// Dump writes all pages with their spare bytes, erased ones as 0xff,
// compressed with gzip: the format of nanddump --noecc --oob, which nandwrite
// --noecc --oob writes back to a chip.
func (m Image) Dump(to io.Writer) error {
	z, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	erased := bytes.Repeat([]byte{0xff}, m.Bytes)
	written := m.Written
	for n := range m.Pages {
		page := erased
		if len(written) > 0 && written[0].Number == n {
			page, written = written[0].Data, written[1:]
		}
		if _, err := z.Write(page); err != nil {
			return err
		}
	}
	return z.Close()
}
