package main

import (
	"bytes"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"whichfs/internal/fault"
	lost "whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

// crash-files: writes an invented finding, finding.json, and its log, some.log.
func doCrashFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: crash-files")
	}
	mark := func(text string) writelog.Entry {
		return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)}
	}
	data := bytes.Repeat([]byte("data"), 1024)
	f := lost.Finding{
		Candidate: "ext4 -o nobarrier", Kernel: "6.1", Size: 1 << 20, Began: 3, Acked: 3, Outcome: fault.Lost,
		Script:   script.Script{Name: "append-fsync", Ops: []script.Op{{Do: "create", Path: "log"}, {Do: "append", Path: "log", Size: 4096}, {Do: "fsync", Path: "log"}}},
		Breaches: []fault.Breach{{Promise: script.PromiseFsync, Path: "log", Outcome: fault.Lost, What: "the file is gone"}},
		Base:     fault.Image{Size: 1 << 20},
		Log: writelog.Log{Entries: []writelog.Entry{
			{Sector: 8, Sectors: 8, Data: data}, {Flags: writelog.Flush}, mark("begin 3"),
			{Sector: 64, Sectors: 8, Data: data}, {Sector: 72, Sectors: 8, Data: data}, mark("end 3"),
		}},
		State: states.State{Point: 6, Kept: []int{4}},
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"finding.json": func(b *bytes.Buffer) error { return f.Encode(b) },
		"some.log":     func(b *bytes.Buffer) error { return f.Log.Write(b) },
	} {
		var b bytes.Buffer
		ts.Check(write(&b))
		ts.Check(os.WriteFile(ts.MkAbs(name), b.Bytes(), 0o644))
	}
}
