package meter

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
)

// hits returns how often each key of a histogram was hit, and the total.
func (p *probes) hits(of *probe, each func(key, n uint64)) error {
	text, err := p.read(filepath.Join(p.root, "events", p.group, of.event, "hist"))
	if err != nil {
		return err
	}
	return parseHistogram(text, of.key, each)
}

// read returns a file's whole text, which is valid until the next call.
func (p *probes) read(file string) ([]byte, error) {
	for {
		text, err := readInto(file, p.buf)
		if err != nil || len(text) < len(p.buf) {
			return text, err
		}
		p.buf = make([]byte, 2*len(p.buf))
	}
}

// parseHistogram reads lines such as "{ block:         17 } hitcount:          2" and the totals
// below them, which show whether the histogram is complete.
func parseHistogram(text []byte, key string, each func(key, n uint64)) error {
	var dropped uint64
	totals := false
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			k, after, ok := labelled(line, key+":")
			n, _, counted := labelled(after, "hitcount:")
			if !ok || !counted {
				return fmt.Errorf("the kernel's histogram has the unknown line %q", line)
			}
			each(k, n)
		case bytes.HasPrefix(line, []byte("Dropped:")):
			dropped, _, totals = labelled(line, "Dropped:")
		}
	}
	switch {
	case !totals:
		return errors.New("the kernel's histogram has no totals")
	case dropped > 0:
		return fmt.Errorf("the kernel's histogram dropped %d hits", dropped)
	}
	return nil
}

// labelled parses the number after a label.
func labelled(line []byte, label string) (uint64, []byte, bool) {
	_, after, found := bytes.Cut(line, []byte(label))
	if !found {
		return 0, line, false
	}
	return number(after)
}
