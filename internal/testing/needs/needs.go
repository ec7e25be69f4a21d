// Package needs says what a test needs beyond a processor and some files. go test
// -short (make check) leaves out the tests that need one of these, and an ordinary
// user those that take root; no other code skips tests, and lint holds it to that.
package needs

import (
	"os"
	"testing"
)

// Guest: a lab guest is started, or the lab's image made.
func Guest(t testing.TB) { t.Helper(); unlessShort(t, "a lab guest") }

// Browser: pages are measured in a browser.
func Browser(t testing.TB) { t.Helper(); unlessShort(t, "a browser") }

// Compiler: programs are compiled.
func Compiler(t testing.TB) { t.Helper(); unlessShort(t, "a compiler") }

// Programs: Debian packages are used that only the tests need.
func Programs(t testing.TB) { t.Helper(); unlessShort(t, "programs of other packages") }

// Devices: loop devices, mounts or namespaces are made, which takes root.
func Devices(t testing.TB) {
	t.Helper()
	unlessShort(t, "root's devices")
	if os.Geteuid() != 0 {
		t.Skip("it takes root to make devices")
	}
}

// Fetched: a file is used that scripts/axe-core fetches. It is missing only where there is no network, and never in
// continuous integration.
func Fetched(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no %s: make packages-test fetches it", path)
	}
	t.Skipf("there is no %s: make packages-test fetches it, with a network", path)
}

func unlessShort(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("it needs %s: make test has it", what)
	}
}
