package finding

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"whichfs/internal/fault"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/harmless"
)

// Format is the number of the file format that this package writes, and the only
// one that it reads.
const Format = 1

// Limits in bytes for a file and for each of its two parts when unpacked: a file
// from an untrusted source must not exhaust memory.
const (
	mostFile = 256 << 20
	mostPart = 1 << 30
)

// file is the form on disk: first the head, for people and jq, then the data from
// which the state is made.
type file struct {
	Finding
	// Checksum is the SHA-256 of the packed base followed by the packed log.
	Checksum string `json:"checksum"`
	Packed   []byte `json:"base"` // gzip, as base64
	Sent     []byte `json:"log"`  // likewise, in the format of dm-log-writes
}

func (f file) checksum() string {
	h := sha256.New()
	h.Write(f.Packed)
	h.Write(f.Sent)
	return hex.EncodeToString(h.Sum(nil))
}

// Encode writes a finding as one file in the current format.
func (f Finding) Encode(w io.Writer) error {
	out := file{Finding: f}
	out.Format = Format
	if err := out.consistent(); err != nil {
		return fmt.Errorf("the finding was not written because it could not be read back: %w", err)
	}
	var err error
	if out.Packed, err = pack(f.Base.Encode, mostPart); err != nil {
		return fmt.Errorf("packing the base image: %w", err)
	}
	if out.Sent, err = pack(f.Log.Write, mostPart); err != nil {
		return fmt.Errorf("packing the log: %w", err)
	}
	out.Checksum = out.checksum()
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}

// pack compresses the output of write.
func pack(write func(io.Writer) error, most int64) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	all := &counter{w: z}
	if err := write(all); err != nil {
		return nil, err
	}
	if all.n > most {
		return nil, fmt.Errorf("it has %d bytes, and no more than %d are read back", all.n, most)
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// counter counts the bytes written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Decode reads a finding; errors say what is wrong with the file.
func Decode(r io.Reader) (Finding, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	if err != nil {
		return Finding{}, err
	}
	if len(data) > mostFile {
		return Finding{}, fmt.Errorf("not a finding: it is longer than %d MiB", mostFile>>20)
	}
	if err := recognise(data); err != nil {
		return Finding{}, err
	}
	var in file
	if err := json.Unmarshal(data, &in); err != nil {
		return Finding{}, fmt.Errorf("the finding is damaged: %w", err)
	}
	if in.Checksum != in.checksum() {
		return Finding{}, errors.New("the finding is damaged: its checksum does not match its base and log")
	}
	image, err := unpack(in.Packed, mostPart)
	if err == nil {
		in.Base, err = fault.DecodeImage(bytes.NewReader(image))
	}
	if err != nil {
		return Finding{}, fmt.Errorf("the base image in the finding: %w", err)
	}
	log, err := unpack(in.Sent, mostPart)
	if err == nil {
		in.Log, err = writelog.Read(bytes.NewReader(log), int64(len(log)))
	}
	if err != nil {
		return Finding{}, fmt.Errorf("the log in the finding: %w", err)
	}
	if err := in.consistent(); err != nil {
		return Finding{}, fmt.Errorf("the finding contradicts itself: %w", err)
	}
	in.clean()
	return in.Finding, nil
}

// Limits for the text in a finding.
const (
	mostText     = 8 << 10 // of a text, in bytes
	mostMessages = 1000
)

// clean makes text of foreign origin in a finding safe to display. It leaves the
// candidate and the script alone: they are executed, not displayed.
func (f *Finding) clean() {
	f.Breaches, f.Messages = f.Breaches[:min(len(f.Breaches), mostMessages)], f.Messages[:min(len(f.Messages), mostMessages)]
	f.Breaches, f.Messages = harmless.Copy(f.Breaches, mostText), harmless.Copy(f.Messages, mostText)
	for _, text := range []*string{&f.Version, &f.Kernel, &f.Check, &f.Whole} {
		*text = harmless.Cut(*text, mostText)
	}
}

// recognise says what kind of file it is if it cannot be a finding.
func recognise(data []byte) error {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return errors.New("the file is empty")
	case text[0] != '{':
		return errors.New("not a finding: it is not JSON")
	}
	var head struct {
		Format *int `json:"format"`
	}
	err := json.Unmarshal(data, &head)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return fmt.Errorf("the finding is cut short: it ends after %d bytes in the middle of its data", len(data))
	case errors.As(err, &syntax):
		return fmt.Errorf("not a finding, or a damaged one: invalid JSON at byte %d: %w", syntax.Offset, err)
	case err != nil || head.Format == nil:
		return errors.New("not a finding: the JSON in it has no format number")
	case *head.Format != Format:
		return fmt.Errorf("a finding of format %d, and this whichfs reads format %d", *head.Format, Format)
	}
	return nil
}

func unpack(packed []byte, most int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := bounded.ReadAll(z, most, "a part of the finding")
	if err != nil {
		return nil, err
	}
	return data, z.Close()
}

// consistent says which parts of a finding contradict each other: the state must be
// one that a power loss can leave of this very log.
func (f Finding) consistent() error {
	if f.Size <= 0 || f.Size%writelog.SectorSize != 0 {
		return fmt.Errorf("a disk of %d bytes", f.Size)
	}
	if f.Base.Size > f.Size {
		return fmt.Errorf("an image of %d bytes for a disk of %d", f.Base.Size, f.Size)
	}
	if f.Acked < 0 || f.Began < f.Acked {
		return fmt.Errorf("%d operations had begun and %d had returned", f.Began, f.Acked)
	}
	for i, e := range f.Log.Entries {
		sectors := uint64(f.Size / writelog.SectorSize)
		if e.IsWrite() && (e.Sector > sectors || e.Sectors > sectors-e.Sector) {
			return fmt.Errorf("entry %d writes %d sectors from %d, beyond the disk's %d", i, e.Sectors, e.Sector, sectors)
		}
	}
	return states.Check(f.Log, f.State)
}
