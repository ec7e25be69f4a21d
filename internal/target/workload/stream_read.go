package workload

import (
	"context"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// streamBuffer is the size of the buffer that reads streams, in bytes.
const streamBuffer = 256 << 10

// StreamRead reads Count files DIR/stream.1 and so on, one after the other, and advises the kernel
// of sequential access, as cat does. If the step names a stream, each file must have its length.
var StreamRead = Kind{Name: "stream-read", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	want := int64(-1)
	if step.Data != "" {
		stream, err := streamOf(env, step)
		if err != nil {
			return Job{}, err
		}
		want = int64(len(stream.Data))
	}
	names, buf := streamNames(step), buffer(streamBuffer)
	return Job{Run: func(t *Tally) error {
		if err := target.open(); err != nil {
			return err
		}
		defer target.close()
		for _, name := range names {
			n, call, errno := readStream(target.dirFD, &name[0], buf)
			if errno != 0 {
				return errOp(call, target.path(name), errno)
			}
			if want >= 0 && n != want {
				return Subject("%s has %d bytes, but %d were written", target.path(name), n, want)
			}
			t.Bytes += n
			t.Files++
		}
		return nil
	}}, nil
}}

// readStream reads a file to its end and returns its length, or the name of the call that failed.
func readStream(dir int, name *byte, buf []byte) (int64, string, unix.Errno) {
	fd, errno := openat(dir, name, readFlags, 0)
	if errno != 0 {
		return 0, "open", errno
	}
	// Only advice: a filesystem may ignore it.
	_ = unix.Fadvise(fd, 0, 0, unix.FADV_SEQUENTIAL)
	n, errno := drain(fd, buf)
	if errno != 0 {
		_ = closefd(fd)
		return n, "read", errno
	}
	return n, "close", closefd(fd)
}
