package blockdev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/sys/owner"
)

// mapped is one device of the kernel's device mapper, made by its ioctls (Linux
// include/uapi/linux/dm-ioctl.h). There is no udev: its node is the kernel's own.
type mapped struct {
	control int
	name    string // in the device mapper, owner.Name
	uuid    string // the same, in the form that marks a device as one user's own
	minor   uint32
	length  int64 // bytes
}

// newMapped makes a device of length bytes with one target over all of it.
func newMapped(length int64, target, args string) (*mapped, error) {
	control, err := openControl()
	if err != nil {
		return nil, err
	}
	m := &mapped{control: control, length: length}
	if m.name, err = owner.Name(mapperKind); err == nil {
		m.uuid = uuidOf(m.name)
		err = m.has(target)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(control))
	}
	h, _, err := m.call(unix.DM_DEV_CREATE, 0, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making device %s: %w", m.name, err), unix.Close(control))
	}
	m.minor = unix.Minor(h.Dev)
	if err := m.replace(target, args, 0); err != nil {
		return nil, errors.Join(err, m.close())
	}
	if err := unix.Access(m.path(), unix.F_OK); err != nil {
		err = fmt.Errorf("%s is missing, so this /dev does not follow the kernel's devices; mount devtmpfs there", m.path())
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func openControl() (int, error) {
	fd, err := unix.Open("/dev/mapper/control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return -1, result.Fail(result.Unsupported, "use --machine lab, whose kernel has it", "this kernel has no device mapper (/dev/mapper/control is missing)")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return -1, errors.New("no permission to use the device mapper: run as root (sudo)")
	case err != nil:
		return -1, fmt.Errorf("/dev/mapper/control: %w", err)
	}
	return fd, nil
}

// has reports whether the kernel has a kind of target.
func (m *mapped) has(target string) error {
	_, out, err := m.call(unix.DM_LIST_VERSIONS, 0, nil)
	if err != nil {
		return fmt.Errorf("listing the device mapper's targets: %w", err)
	}
	// Each entry is the distance to the next (0: the last), three numbers of a version, and a name
	// (struct dm_target_versions).
	for len(out) >= 16 {
		if unix.ByteSliceToString(out[16:]) == target {
			return nil
		}
		next := binary.NativeEndian.Uint32(out)
		if next == 0 || int64(next) > int64(len(out)) {
			break
		}
		out = out[next:]
	}
	return result.Fail(result.Unsupported, "use --machine lab, whose kernel has it", "this kernel has no device mapper target %s", target)
}

func (m *mapped) dev() string  { return fmt.Sprintf("dm-%d", m.minor) }
func (m *mapped) path() string { return "/dev/" + m.dev() }

// answer is the room for a call's answer, in bytes. All answers needed here are short.
const answer = 16 << 10

// call does one ioctl, on this device by its name, and returns the data that the kernel stored
// after the header.
func (m *mapped) call(request uint, flags uint32, payload []byte) (unix.DmIoctl, []byte, error) {
	const header = unix.SizeofDmIoctl
	words := make([]uint64, (header+len(payload)+answer)/8+1) // aligned as the header is
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	h := (*unix.DmIoctl)(unsafe.Pointer(&words[0]))
	h.Version = [3]uint32{unix.DM_VERSION_MAJOR, 0, 0}
	h.Data_size, h.Data_start, h.Flags = uint32(len(buffer)), header, flags
	if request == unix.DM_TABLE_LOAD {
		h.Target_count = 1
	}
	// One of the two identifies a device, except where both are being assigned.
	if request != unix.DM_LIST_VERSIONS {
		copy(h.Name[:len(h.Name)-1], m.name)
	}
	if request == unix.DM_DEV_CREATE || m.name == "" {
		copy(h.Uuid[:len(h.Uuid)-1], m.uuid)
	}
	copy(buffer[header:], payload)
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m.control), uintptr(request), uintptr(unsafe.Pointer(&words[0])))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return *h, nil, errno
		case h.Flags&unix.DM_BUFFER_FULL_FLAG != 0:
			return *h, nil, errors.New("the kernel's answer is longer than expected")
		}
		end := min(h.Data_size, uint32(len(buffer)))
		return *h, buffer[min(h.Data_start, end):end], nil
	}
}

// replace gives the device another table and resumes it. Requests in flight are finished in the old
// one; when replace returns, the old one is gone. A mounted filesystem is not frozen first, or it
// would write before the change.
func (m *mapped) replace(target, args string, flags uint32) error {
	spec := make([]byte, unix.SizeofDmTargetSpec, unix.SizeofDmTargetSpec+len(args)+8)
	binary.NativeEndian.PutUint64(spec[8:], uint64(m.length/sector))
	copy(spec[24:39], target)
	spec = append(append(spec, args...), 0)
	for len(spec)%8 != 0 {
		spec = append(spec, 0)
	}
	binary.NativeEndian.PutUint32(spec[20:], uint32(len(spec)))
	if _, _, err := m.call(unix.DM_TABLE_LOAD, 0, spec); err != nil {
		return fmt.Errorf("device %s as %s %s: %w", m.name, target, args, err)
	}
	// Without DM_SUSPEND_FLAG this resumes, and suspends before that if there is another table.
	if _, _, err := m.call(unix.DM_DEV_SUSPEND, unix.DM_SKIP_LOCKFS_FLAG|flags, nil); err != nil {
		_, _, undo := m.call(unix.DM_TABLE_CLEAR, 0, nil)
		return errors.Join(fmt.Errorf("device %s as %s %s: %w", m.name, target, args, err), undo)
	}
	return nil
}

// status is the target's own status text.
func (m *mapped) status() (string, error) {
	_, out, err := m.call(unix.DM_TABLE_STATUS, unix.DM_NOFLUSH_FLAG, nil)
	if err != nil {
		return "", fmt.Errorf("reading the status of device %s: %w", m.name, err)
	}
	if len(out) < unix.SizeofDmTargetSpec {
		return "", fmt.Errorf("device %s has no table", m.name)
	}
	return unix.ByteSliceToString(out[unix.SizeofDmTargetSpec:]), nil
}

// message sends a message to the target.
func (m *mapped) message(words ...string) error {
	payload := make([]byte, 8) // the sector, 0
	for i, w := range words {
		if i > 0 {
			payload = append(payload, ' ')
		}
		payload = append(payload, escaped(w)...)
	}
	_, _, err := m.call(unix.DM_TARGET_MSG, 0, append(payload, 0))
	return err
}

// escaped protects a text so that the kernel parses it as one word (dm_split_args in
// drivers/md/dm-table.c supports only the backslash).
func escaped(word string) string {
	var b strings.Builder
	for _, c := range []byte(word) {
		// The kernel treats 0xa0 as a space (lib/ctype.c).
		if c == '\\' || c == ' ' || c >= '\t' && c <= '\r' || c == 0xa0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// close removes the device. If it is in use, all further requests fail, it releases the device
// below it, and it is removed once it is no longer in use.
func (m *mapped) close() error {
	if m.control < 0 {
		return nil
	}
	_, _, err := m.call(unix.DM_DEV_REMOVE, 0, nil)
	if errors.Is(err, unix.EBUSY) {
		err = m.replace("error", "", unix.DM_NOFLUSH_FLAG)
		_, _, later := m.call(unix.DM_DEV_REMOVE, unix.DM_DEFERRED_REMOVE, nil)
		err = errors.Join(err, later)
	}
	err = errors.Join(err, unix.Close(m.control))
	m.control = -1
	if err != nil {
		return fmt.Errorf("removing device %s: %w", m.name, err)
	}
	return nil
}
