package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"whichfs/internal/target/kmod/kmodtest"
)

// module FILE NAME VERMAGIC: makes a kernel module file without code.
func doModule(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: module FILE NAME VERMAGIC")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), kmodtest.Build(kmodtest.Module(args[1], args[2])), 0o600))
}
