package fio

import (
	"errors"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// Jobs as people write them for their own machines stay on the filesystem under test, and every change
// is said.
func TestMap(t *testing.T) {
	devices := map[string]int64{"/dev/sdx": 1 << 20}
	for name, c := range map[string]struct {
		text, want string
		changed    []string
		devices    map[string]int64
	}{
		"nothing":   {text: "[a]\nfilename=x # here\nsize=1m", want: "[a]\nfilename=x # here\nsize=1m"},
		"directory": {text: "[a]\ndirectory = /scratch/\nsize=1m", want: "[a]\ndirectory=scratch\nsize=1m", changed: []string{"line 2 of the fio job, directory=/scratch/: taken as directory=scratch"}},
		"file":      {text: "[a]\nfilename=/tmp/testfile ; mine\nsize=1m", want: "[a]\nfilename=tmp/testfile\nsize=1m", changed: []string{"line 2 of the fio job, filename=/tmp/testfile: taken as filename=tmp/testfile"}},
		"upwards":   {text: "[a]\nfilename=../x\nsize=1m", want: "[a]\nfilename=x\nsize=1m", changed: []string{"line 2 of the fio job, filename=../x: taken as filename=x"}},
		"root":      {text: "[a]\ndirectory=/\nsize=1m", want: "[a]\ndirectory=.\nsize=1m", changed: []string{"line 2 of the fio job, directory=/: taken as directory=."}},
		"memory":    {text: "[a]\ndirectory=/dev/shm\nsize=1m", want: "[a]\ndirectory=dev/shm\nsize=1m", changed: []string{"line 2 of the fio job, directory=/dev/shm: taken as directory=dev/shm"}},
		"list":      {text: "[a]\nfilename=/mnt/a:b:/mnt/c\\:d\nsize=1m", want: "[a]\nfilename=mnt/a:b:mnt/c\\:d\nsize=1m", changed: []string{"line 2 of the fio job, filename=/mnt/a:b:/mnt/c\\:d: taken as filename=mnt/a:b:mnt/c\\:d"}},
		"log":       {text: "[a]\nsize=1m\nwrite_lat_log=lat", want: "[a]\nsize=1m\n", changed: []string{"line 3 of the fio job, write_lat_log=lat: left out"}},
		"device": {text: "[global]\nfilename=/dev/sdx\nrw=write\n[a]\nbs=4k\n", want: "[global]\nfilename=dev/sdx\nrw=write\nfilesize=1048576\n[a]\nbs=4k\n",
			changed: []string{"line 2 of the fio job, filename=/dev/sdx: taken as filename=dev/sdx, 1048576 bytes"}, devices: devices},
		"file that is there": {text: "[a]\nfilename=/tmp/x\n", want: "[a]\nfilename=tmp/x\nfilesize=4096\n",
			changed: []string{"line 2 of the fio job, filename=/tmp/x: taken as filename=tmp/x, 4096 bytes"}, devices: map[string]int64{"/tmp/x": 4096}},
		"two devices": {text: "[a]\nfilename=/dev/sdx:/dev/sdy", want: "[a]\nfilename=dev/sdx:dev/sdy\nfilesize=512",
			changed: []string{"line 2 of the fio job, filename=/dev/sdx:/dev/sdy: taken as filename=dev/sdx:dev/sdy, 512 bytes"}, devices: map[string]int64{"/dev/sdx": 512, "/dev/sdy": 512}},
		"device with a size of its own": {text: "[a]\nfilename=/dev/sdx\nfilesize=4k", want: "[a]\nfilename=dev/sdx\nfilesize=4k",
			changed: []string{"line 2 of the fio job, filename=/dev/sdx: taken as filename=dev/sdx, 1048576 bytes"}, devices: devices},
	} {
		got, changed, err := Map(c.text, c.devices)
		if err != nil || got != c.want || strings.Join(changed, "\n") != strings.Join(c.changed, "\n") {
			t.Errorf("%s: %v, %q, %q", name, err, got, changed)
		}
	}
}

// A device, and an engine without files, is refused with the user's line, the reason and what to do.
func TestMapRefuses(t *testing.T) {
	for _, c := range []struct {
		text, want, hint string
		devices          map[string]int64
	}{
		{text: "[a]\nfilename=/dev/sdx\n", want: "line 2: filename=/dev/sdx: it names a device", hint: "--fio-map /dev/sdx=1G"},
		{text: "[a]\nfilename=x:/dev/../dev/sdx\n", want: "it names a device", hint: "--fio-map /dev/sdx=1G"},
		{text: "[a]\nfilename=/proc/self/mem\n", want: "the kernel's own", hint: "leave"},
		{text: "[a]\nfilename=/sys\n", want: "the kernel's own", hint: "leave"},
		{text: "[a]\ndirectory=/mnt/$HOME\n", want: "variables", hint: "write"},
		{text: "[a]\nfilename=/dev/sdx\nsize=1m\n[b]\nioengine=net\n", want: "line 5: ioengine=net", hint: "use one of", devices: map[string]int64{"/dev/sdx": 1}},
		{text: "[a]\nfilename=x\nsize=1m\n", want: "no line of the fio job names /dev/sdx", hint: "leave it out", devices: map[string]int64{"/dev/sdx": 1}},
		{text: "[a]\nfilename=/dev/sdx:/dev/sdy\n", want: "the same size", hint: "--fio-map", devices: map[string]int64{"/dev/sdx": 1, "/dev/sdy": 2}},
		{text: "[global]\nfilename=/tmp/x\n[a]\nrw=read\n", want: "line 3: [a]: nothing says how large", hint: "--fio-map /tmp/x=64M"},
		{text: "[a]\nsize=1m\nexec_prerun=reboot\n", want: "line 3: exec_prerun", hint: "leave"},
		{text: "[/dev/sda]\nsize=1m\n", want: "line 1: [/dev/sda]", hint: "use a name"},
	} {
		_, _, err := Map(c.text, c.devices)
		var f *result.Failure
		if !errors.As(err, &f) || !strings.Contains(f.Reason, c.want) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
