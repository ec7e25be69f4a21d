package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/testing/must"
)

// movedChip has blocks of one page. Before it reads a block, something of its own happens, by the number of the reading.
type movedChip struct {
	blocks [][]byte
	reads  int
	before func(c *movedChip, reading, block int)
}

func (c *movedChip) Bad(int) (bool, error) { return false, nil }

func (c *movedChip) ReadRaw(block, _ int, data, spare []byte) error {
	c.before(c, c.reads/len(c.blocks), block)
	c.reads++
	copy(data, bytes.Repeat([]byte{0xff}, len(data)))
	copy(data, c.blocks[block])
	copy(spare, bytes.Repeat([]byte{0xff}, len(spare)))
	return nil
}

// A page that has lost its data reads differently each time, and is no sign of anything that moves.
func TestSaveLostPage(t *testing.T) {
	n := 0
	c := &movedChip{blocks: [][]byte{[]byte("a"), []byte("b")}, before: func(c *movedChip, _, block int) {
		if block == 1 {
			n++
			c.blocks[1] = fmt.Append(nil, n)
		}
	}}
	s, err := save(t.Context(), shape{2, 1, 8, 2}, c)
	if err != nil || len(s.blocks) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	must.Do(t, s.Close())
}

// What a filesystem moves while its chip is read, to a block that was read before, is saved all the same; one that
// never rests is an error.
func TestSaveWhileThingsMove(t *testing.T) {
	of := shape{4, 1, 8, 2}
	for name, c := range map[string]struct {
		chip *movedChip
		want string // by block
	}{
		"empty":   {&movedChip{blocks: make([][]byte, 4), before: func(*movedChip, int, int) {}}, ""},
		"at rest": {&movedChip{blocks: [][]byte{nil, []byte("b"), nil, []byte("d")}, before: func(*movedChip, int, int) {}}, "1 b, 3 d"},
		"moved": {&movedChip{blocks: [][]byte{nil, []byte("b"), nil, []byte("d")}, before: func(c *movedChip, reading, block int) {
			if reading == 0 && block == 2 {
				c.blocks[0], c.blocks[3] = c.blocks[3], nil
			}
		}}, "0 d, 1 b"},
		"moved often": {&movedChip{blocks: [][]byte{nil, []byte("b"), nil, []byte("d")}, before: func(c *movedChip, reading, block int) {
			if reading < 3 && block == 2 {
				c.blocks[0], c.blocks[3] = c.blocks[3], c.blocks[0]
			}
		}}, "1 b, 3 d"},
		"no rest": {&movedChip{blocks: make([][]byte, 4), before: func(c *movedChip, reading, block int) {
			c.blocks[block], c.blocks[3-block] = fmt.Append(nil, reading), nil
		}}, "error"},
	} {
		s, err := save(t.Context(), of, c.chip)
		var got []string
		if s != nil {
			for i, b := range s.blocks {
				got = append(got, fmt.Sprintf("%d %s", b.number, bytes.TrimRight(s.memory[i*s.page:(i+1)*s.page], "\xff")))
			}
			must.Do(t, s.Close())
		}
		if text := strings.Join(got, ", "); (err != nil) != (c.want == "error") || err == nil && text != c.want {
			t.Errorf("%s: %q, %v, want %q", name, text, err, c.want)
		}
	}
}
