package agent

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
)

// The hint for a missing tool really helps.
func TestInstall(t *testing.T) {
	for _, x := range []struct {
		tool    filesystem.Tool
		inGuest bool
		want    string
	}{
		{filesystem.Tool{Program: "mkfs.x", Package: "xprogs"}, false, "apt-get install xprogs"},
		{filesystem.Tool{Program: "mkfs.x", Package: "xprogs"}, true, "whichfs lab build --force"},
		{filesystem.Tool{Program: "mkfs.x", Package: "xprogs", From: "example.org"}, true, "Debian does not package it: example.org"},
	} {
		if got := install(x.tool, x.inGuest); !strings.HasPrefix(got, x.want) {
			t.Errorf("%+v: %q", x, got)
		}
	}
}
