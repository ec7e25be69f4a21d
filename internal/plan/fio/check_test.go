package fio

import (
	"errors"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// Jobs as people write them, including the published ones: none is refused.
func TestCheckPasses(t *testing.T) {
	for name, text := range map[string]string{
		"published":   "[test]\nrw=randread\nsize=500MB\nblocksize=4MB\nnrfiles=50\ndirect=1\nbuffered=0\nnumjobs=1\nioengine=libaio\n",
		"global":      "; a comment\n# another\n\n[global]\nioengine = psync\nsize\t=\t1g\n[a]\nrw=write\nend_fsync=1\n[b]\nstonewall\nrw=read ; and a comment /etc\n",
		"windows":     "[a]\r\nrw=read\r\nsize=4k\r\n",
		"names":       "[a b.c]\nrw=read\nsize=1m\nfilename=data/one\ndirectory=here\nfilename_format=$jobname.$filenum\n",
		"unknown":     "[a]\nrw=read\nno-such-option=/etc/passwd\n", // fio says what it thinks of it
		"pattern":     "[a]\nrw=write\nsize=4k\nbuffer_pattern=0xdeadface\"abcd\"\n",
		"description": "[a]\nsize=1m\ndescription=reads /etc/passwd: $HOME, not\n",
		"comment":     "[a]\nsize=1m\n  # exec_prerun=rm\n\t;include x\nrw=read # exec_prerun=rm\n",
		"directory":   "[a]\nsize=1m\ndirectory=.\n",
		"lists":       "[a]\nsize=1m\ndirectory=here:there\nfilename=one:a\\:b\n",
		"metadata":    "[a]\nioengine=dirstat\nfilesize=4k\nnrfiles=5\n[b]\nioengine=e4defrag\ndonorname=d\nrw=write\nsize=1m\n",
		"memory":      "[a]\nsize=1m\niomem=mmap\n",
	} {
		if err := Check(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Anything that leads away from the storage or runs a program is refused, with
// its line, its option and a hint.
func TestCheckRefuses(t *testing.T) {
	const head = "[global]\nsize=1m\n[job]\nrw=read\n" // 4 lines
	for _, c := range []struct{ text, line, option string }{
		{head + "filename=/dev/sda", "line 5", "filename=/dev/sda"},
		{head + "filename = /dev/sda", "line 5", "filename=/dev/sda"},
		{head + "filename=a:/dev/sda", "line 5", "filename"},
		{head + "filename=a\\b", "line 5", "filename"},
		{head + "filename=../x", "line 5", "filename"},
		{head + "filename=a/../../x", "line 5", "filename"},
		{head + "filename=-", "line 5", "filename"},
		{head + "filename=${HOME}/x", "line 5", "filename"},
		{head + "filename=", "line 5", "filename"},
		{head + "filename", "line 5", "filename"},
		{head + "directory=/mnt/test", "line 5", "directory=/mnt/test"},
		{head + "directory=..", "line 5", "directory"},
		{head + "directory=a:/b", "line 5", "directory"},
		{head + "opendir=/etc", "line 5", "opendir"},
		{head + "filename_format=/dev/vd$filenum", "line 5", "filename_format"},
		{head + "filename_format=../$filenum", "line 5", "filename_format"},
		{head + "exec_prerun=reboot", "line 5", "exec_prerun"},
		{head + "\texec_postrun = reboot", "line 5", "exec_postrun"},
		{head + "exec_prerun", "line 5", "exec_prerun"},
		{head + "include other.fio", "line 5", "include other.fio"},
		{head + "includeother.fio", "line 5", "include"},
		{head + "include=x", "line 5", "include"},
		{head + "ioengine=external:/tmp/foo.o", "line 5", "ioengine"},
		{head + "ioengine=net", "line 5", "ioengine"},
		{head + "ioengine=rdma", "line 5", "ioengine"},
		{head + "ioengine=exec\nprogram=/bin/sh", "line 5", "ioengine"},
		{head + "program=/bin/sh", "line 5", "program"},
		{head + "ioengine=sg", "line 5", "ioengine"},
		{head + "ioengine=mtd", "line 5", "ioengine"},
		{head + "ioengine=e4defrag\ndonorname=/etc/x", "line 6", "donorname"},
		{head + "ioengine=libaio:x", "line 5", "ioengine"},
		{head + "ioengine=/tmp/x.so", "line 5", "ioengine"},
		{head + "ioengine=io_uring_cmd", "line 5", "ioengine"},
		{head + "write_bw_log", "line 5", "write_bw_log"},
		{head + "write_lat_log=/tmp/x", "line 5", "write_lat_log"},
		{head + "write_iops_log=x", "line 5", "write_iops_log"},
		{head + "write_hist_log=x", "line 5", "write_hist_log"},
		{head + "write_iolog=x", "line 5", "write_iolog"},
		{head + "read_iolog=/dev/stdin", "line 5", "read_iolog"},
		{head + "replay_redirect=/dev/sda", "line 5", "replay_redirect"},
		{head + "merge_blktrace_file=x", "line 5", "merge_blktrace_file"},
		{head + "aux-path=/tmp", "line 5", "aux-path"},
		{head + "trigger=reboot", "line 5", "trigger"},
		{head + "client=host", "line 5", "client"},
		{head + "server", "line 5", "server"},
		{head + "mount=/mnt", "line 5", "mount"},
		{head + "profile=act", "line 5", "profile"},
		{head + "ioscheduler=none", "line 5", "ioscheduler"},
		{head + "cgroup=x", "line 5", "cgroup"},
		{head + "mem=mmapshared:/etc/x", "line 5", "mem=mmapshared"},
		{head + "iomem=mmaphuge:/etc/x", "line 5", "iomem"},
		{head + "verify_pattern='/etc/shadow'", "line 5", "verify_pattern"},
		{head + "buffer_pattern=\"a\"'x'", "line 5", "buffer_pattern"},
		{head + "size=${SIZE}", "line 5", "size"},
		{head + "${X}=1", "line 5", "${X}"},
		{head + "size=4*$pagesize", "line 5", "size"},
		{head + "stats=0", "line 5", "stats"},
		{head + "name=../../x", "line 5", "name"},
		{head + "name=/dev/sda", "line 5", "name"},
		{"[global]\nfilename=/dev/sda\n[a]\nrw=read", "line 2", "filename"},
		{"[globalized]\nfilename=/dev/sda\n[a]\nrw=read", "line 2", "filename"},
		{"[/dev/sda]\nrw=read", "line 1", "[/dev/sda]"},
		{"[..]\nrw=read", "line 1", "[..]"},
		{"[a/../../b]\nrw=read", "line 1", "[a/"},
		{"[include x]\nrw=read", "line 1", "[include"},
		{"[a]b\nrw=read", "line 1", "[a]b"},
		{"[a\nrw=read", "line 1", "[a"},
		{"[a];]\nrw=read\n[/b]", "line 3", "[/b]"},
		{"rw=read\n[a]", "line 1", "rw=read"},
		{"[a]\ndescription=" + strings.Repeat("a", 4083) + "exec_prerun=reboot", "line 2", ""},
		{"[a]\nrw=read\x00\nsize=1m", "line 2", ""},
		{"[a]\nrw=read\x1b[31m\nsize=1m", "line 2", ""},
		{"[a]\nrw=\xff\n", "line 2", ""},
		{"", "", ""},
		{"[global]\nsize=1m", "", ""},
		{strings.Repeat("#\n", 1<<20), "", ""},
	} {
		err := Check(c.text)
		var r *result.Failure
		if !errors.As(err, &r) {
			t.Errorf("%.80q is not refused (%v)", c.text, err)
			continue
		}
		if !strings.Contains(err.Error(), c.line) || !strings.Contains(err.Error(), c.option) || r.Hint == "" {
			t.Errorf("%.80q: %q lacks %q or %q, or has no hint", c.text, err, c.line, c.option)
		}
	}
}

func TestDirectories(t *testing.T) {
	f, err := Parse("[global]\ndirectory=a/b/\n[x]\n[y]\nopendir=c\n[z]\ndirectory=.\n[v]\ndirectory=d:e\nfilename=f:g/h\n[w]\ndirectory=.\nfilename=tmp/x\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Directories(), " "); got != "a/b c d d/g e e/g tmp" {
		t.Errorf("directories %q", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"[a]\nrw=read\nsize=1m\n", "[global]\nfilename=x\n[b]\n", "[/dev/sda]", "[a]\nexec_prerun=x", "[a]\ninclude x", "[a]\n=\n[b]\n=x",
		"[a]\nfilename=;/x\n", "[a];]\n", "[a]\nsize=9223372036854775807\nnumjobs=9",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(text)
		checked := Check(text)
		mapped, _, unmapped := Map(text, nil)
		if unmapped == nil && Check(mapped) != nil || checked == nil && unmapped == nil && mapped != text {
			t.Fatalf("%q is mapped to %q: %v", text, mapped, unmapped)
		}
		if err != nil {
			if checked == nil {
				t.Fatalf("%q is not read and passes", text)
			}
			return
		}
		if bytes, _ := file.Volume(); bytes < 0 {
			t.Fatalf("%q has a volume of %d", text, bytes)
		}
		file.Layout()
		if checked != nil {
			if r, ok := checked.(*result.Failure); !ok || r.Reason == "" || strings.ContainsAny(checked.Error(), "\n\x00") { //nolint:errorlint // as it is
				t.Fatalf("%q: %v", text, checked)
			}
			return
		}
		// A job that passed has no line that fio could interpret as another path or a
		// program.
		for _, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			name, _, _ := strings.Cut(line, "=")
			name = strings.TrimSpace(name)
			if name == "exec_prerun" || name == "exec_postrun" || name == "read_iolog" || strings.HasPrefix(line, "include") ||
				strings.HasPrefix(line, "[/") || strings.HasPrefix(line, "filename=/") || strings.HasPrefix(line, "ioengine=exec") {
				t.Fatalf("%q passes with the line %q", text, line)
			}
		}
		for _, j := range file.Jobs() {
			for _, name := range paths {
				if strings.HasPrefix(j.Options[name], "/") || strings.Contains(j.Options[name], "..") && strings.Contains(j.Options[name], "/..") {
					t.Fatalf("%q passes with %s=%s", text, name, j.Options[name])
				}
			}
		}
	})
}
