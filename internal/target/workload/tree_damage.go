package workload

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// Damage by kind.
const (
	fileWrong = iota
	fileUnreadable
	fileMissing
	damageKinds
)

// damage describes one damaged file.
type damage struct {
	kind   int
	copy   int // from 0
	path   []byte
	call   string     // that failed; of what is unreadable
	errno  unix.Errno // of that call
	at     int64      // the first byte that is wrong or unreadable
	length int64      // the present length; of a wrong file
	want   int64      // as written
	link   bool
}

// damageTold is how many damaged files are described.
const damageTold = 5

func (c *comparer) extra(env *Env) Extra {
	count := func(metric string, n int64) result.Measurement { return result.Figure(metric, float64(n)) }
	x := Extra{Measurements: []result.Measurement{
		count(result.FilesWhole, c.whole), count(result.FilesWrong, c.counts[fileWrong]),
		count(result.FilesUnreadable, c.counts[fileUnreadable]), count(result.FilesMissing, c.counts[fileMissing]),
		readOnlyNow(env),
	}}
	note := func(format string, args ...any) {
		x.Notes = append(x.Notes, result.Note{Level: result.Warning, Text: fmt.Sprintf(format, args...)})
	}
	for i := range c.told[:c.n] {
		note("%s", c.describe(&c.told[i]))
	}
	if more := c.counts[fileWrong] + c.counts[fileUnreadable] + c.counts[fileMissing] - int64(c.n); more > 0 {
		note("%d more files are damaged", more)
	}
	if m := x.Measurements[len(x.Measurements)-1]; m.Absent == "" && m.Value > 0 {
		note("the filesystem was mounted read-write and became read-only")
	}
	return x
}

func (c *comparer) describe(d *damage) string {
	path := c.name
	if c.layout.names != nil {
		name := c.layout.names[d.copy]
		path = join(path, string(name[:len(name)-1]))
	}
	path = join(path, string(d.path[:len(d.path)-1]))
	what := "file"
	if d.link {
		what = "link"
	}
	switch {
	case d.kind == fileMissing:
		return fmt.Sprintf("%s %q is missing", what, path)
	case d.kind == fileUnreadable && d.call == "read":
		return fmt.Sprintf("%s %q: reading its %d bytes ended at byte %d: %v", what, path, d.want, d.at, d.errno)
	case d.kind == fileUnreadable:
		return fmt.Sprintf("%s %q: %s: %v", what, path, d.call, d.errno)
	case d.at == d.length:
		return fmt.Sprintf("%s %q has %d bytes, but %d were written", what, path, d.length, d.want)
	case d.at == d.want:
		return fmt.Sprintf("%s %q has %d bytes; all %d that were written are there", what, path, d.length, d.want)
	case d.length != d.want:
		return fmt.Sprintf("%s %q has %d bytes, %d were written, and they differ from byte %d on", what, path, d.length, d.want, d.at)
	}
	return fmt.Sprintf("%s %q differs from what was written, from byte %d of %d on", what, path, d.at, d.want)
}

// readOnlyNow reports whether a filesystem that was mounted read-write rejects writes now.
func readOnlyNow(env *Env) result.Measurement {
	if slices.Contains(env.mountOptions(), "ro") {
		return result.Missing(result.MountReadOnly, "it was mounted read-only")
	}
	var st unix.Statfs_t
	if err := unix.Statfs(env.Mount, &st); err != nil {
		return result.Missing(result.MountReadOnly, fmt.Sprintf("statfs: %v", err))
	}
	if st.Flags&unix.ST_RDONLY != 0 {
		return result.Figure(result.MountReadOnly, 1)
	}
	return result.Figure(result.MountReadOnly, 0)
}
