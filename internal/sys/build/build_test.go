package build

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAgentVersion(t *testing.T) {
	const dots = "................................"
	for text, want := range map[string]string{
		"\x00" + AgentMark + "v1.2-3-gabcdef0" + dots[15:] + "text":                   "v1.2-3-gabcdef0",
		AgentMark + "%s, and more that is not one\x00" + AgentMark + "ca18c0b" + dots: "ca18c0b",
		AgentMark + "0123456789012345678901234567890123456789":                        "01234567890123456789012345678901",
		AgentMark + Unknown + dots:                                                    Unknown,
		"ELF":                                                                         Unknown,
		AgentMark + "":                                                                Unknown,
	} {
		path := filepath.Join(t.TempDir(), "agent")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := AgentVersion(path); err != nil || got != want {
			t.Errorf("%q: %q instead of %q, %v", text, got, want, err)
		}
	}
	if _, err := AgentVersion(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing program has a version")
	}
}

func TestSame(t *testing.T) {
	if !Same("a", "a") || Same("a", "b") || !Same(Unknown, "b") || !Same("a", Unknown) {
		t.Error("versions are compared wrongly")
	}
}
