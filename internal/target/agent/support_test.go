package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/testing/parsed"
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
		{filesystem.Tool{Program: "mkfs.x", Package: "xprogs", From: "example.org"}, true, "Debian does not package it, but --program gives it to a run: example.org"},
	} {
		if got := install(x.tool, x.inGuest); !strings.HasPrefix(got, x.want) {
			t.Errorf("%+v: %q", x, got)
		}
	}
}

// Options of the kernel's configuration are conditions, also those that are not set; without a
// configuration none is.
func TestConfigured(t *testing.T) {
	names := []string{"SQUASHFS_FILE_DIRECT", "SQUASHFS_4K_DEVBLK_SIZE", "SQUASHFS_FILE_DIRECT"}
	got := configured("CONFIG_SQUASHFS_FILE_DIRECT=y\n# CONFIG_SQUASHFS_4K_DEVBLK_SIZE is not set\n", names)
	if len(got) != 2 || got[0].Name != "CONFIG_SQUASHFS_4K_DEVBLK_SIZE" || got[0].Value != "n" || got[1].Value != "y" {
		t.Errorf("%+v", got)
	}
	if got := configured("", names); got != nil {
		t.Errorf("%+v", got)
	}
}

// What an image maker lacks is shown by an image and not by its version: one without a compressor is
// unsupported, one that makes none at all is left to the trial.
func TestToolLacks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	maker := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "mkfs.erofs"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	maker("case \"$*\" in *-zlzma*) exit 1;; esac")
	for candidate, want := range map[string]string{
		"erofs -zlzma": "mkfs.erofs was built without lzma", "erofs -zzstd,3": "", "erofs -zlz4hc,12": "", "erofs": "", "ext4": "",
	} {
		if got := toolLacks(t.Context(), parsed.Candidate(candidate)); got != want {
			t.Errorf("%s: %q", candidate, got)
		}
	}
	maker("exit 1")
	if got := toolLacks(t.Context(), parsed.Candidate("erofs -zlzma")); got != "" {
		t.Errorf("a tool that makes nothing: %q", got)
	}
}
