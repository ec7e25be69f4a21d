package workload

import (
	"fmt"
	"math/rand/v2"

	"whichfs/internal/plan/scenario"
)

// Names of empty files as Bonnie++ 1.96 to 2.00 makes them (bon_file.cpp, make_names): a number of
// ten hexadecimal digits and 0 to 12 random characters. In sequential order the number comes first,
// so that names are made in alphabetical order; in random order it comes last and only keeps them
// distinct.
//
// With more than one directory the name is 5 digits, a slash and that. Bonnie++ puts one file more
// than the even share into each directory, so the last one has fewer; this code does the same.
const (
	metaExtra  = 12 // characters at most
	metaNumber = 10 // digits
	metaDir    = 5  // digits of a directory's name
	metaChars  = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// metaMaxDirs is how many directories five digits can name.
const metaMaxDirs = 100_000

// metaNames are the names of a storm of empty files, each with its NUL, in one allocation.
type metaNames struct {
	bytes []byte
	at    []int32 // where each name begins
	dirs  [][]byte
	files int
}

// newMetaNames makes them; draw returns a nonnegative number, whose remainder is used, as in the
// original.
func newMetaNames(files, dirs int, order string, draw func() int) *metaNames {
	m := &metaNames{files: files, at: make([]int32, files)}
	m.bytes = make([]byte, 0, files*(metaDir+1+metaNumber+metaExtra/2+2))
	for i := 0; dirs > 1 && i < dirs; i++ {
		m.dirs = append(m.dirs, terminated(fmt.Sprintf("%0*d", metaDir, i)))
	}
	var extra [metaExtra]byte
	share, inDir, dir := files/dirs, 0, 0
	for i := range files {
		n := draw() % (metaExtra + 1)
		for j := range n {
			extra[j] = metaChars[draw()%len(metaChars)]
		}
		m.at[i] = int32(len(m.bytes))
		if dirs > 1 {
			m.bytes = fmt.Appendf(m.bytes, "%0*d/", metaDir, dir)
		}
		if inDir++; inDir > share {
			inDir = 0
			dir++
		}
		if order == scenario.OrderRandom {
			m.bytes = fmt.Appendf(m.bytes, "%s%0*x\x00", extra[:n], metaNumber, i)
		} else {
			m.bytes = fmt.Appendf(m.bytes, "%0*x%s\x00", metaNumber, i, extra[:n])
		}
	}
	return m
}

// name is the path of file i, below the directory of the step.
func (m *metaNames) name(i int) *byte { return &m.bytes[m.at[i]] }

// text is the name of file i, for messages.
func (m *metaNames) text(i int) string {
	rest := m.bytes[m.at[i]:]
	for n, c := range rest {
		if c == 0 {
			return string(rest[:n])
		}
	}
	return string(rest)
}

// shuffle puts the files into a random order, each equally likely (Bonnie++ swaps each with any,
// which is slightly biased).
func (m *metaNames) shuffle(source *rand.Rand) {
	source.Shuffle(len(m.at), func(i, j int) { m.at[i], m.at[j] = m.at[j], m.at[i] })
}

// share is the number of files in directory dir.
func (m *metaNames) share(dir int) int {
	if len(m.dirs) == 0 {
		return m.files
	}
	each := m.files/len(m.dirs) + 1
	return min(each, max(0, m.files-dir*each))
}
