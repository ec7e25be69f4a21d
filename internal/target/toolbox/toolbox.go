// Package toolbox unpacks programs that a host has sent, and makes them run from where they are. Each
// is started through its own loader with its own libraries by a small script, so nothing is mounted,
// and nothing outside the directory changes.
package toolbox

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// ListName is the archive's last file: a JSON list of the programs. An archive without it is not whole.
const ListName = "programs.json"

// Bin is the directory that belongs into the PATH.
const Bin = "bin"

// Entry is a program of a set, or a file of it.
type Entry struct {
	// Name by which the program is started: "mkfs.ext4". Some programs behave by it.
	Name string `json:"name"`
	// File is the program's file in the set: "program/mke2fs".
	File string `json:"file"`
	// Loader is the file that starts it; empty: it starts by itself.
	Loader string `json:"loader,omitempty"`
	// Settings are variables of its environment.
	Settings []Setting `json:"settings,omitempty"`
	// Content makes this a file without a name.
	Content []byte `json:"-"`
}

// Describe says which program it is, for a report. content is its file's.
func (e Entry) Describe(content []byte) string {
	return fmt.Sprintf("%s, %d bytes, sha256 %x", path.Base(e.File), len(content), sha256.Sum256(content))
}

// Setting is a variable with the path of a file of the set.
type Setting struct {
	Variable string `json:"variable"`
	File     string `json:"file"`
}

// List is the content of ListName.
func List(programs []Entry) ([]byte, error) { return json.Marshal(programs) }

var (
	fileName     = regexp.MustCompile(`^(program|lib|etc)/[A-Za-z0-9_+][A-Za-z0-9_.+-]*$`)
	programName  = regexp.MustCompile(`^[A-Za-z0-9_+][A-Za-z0-9_.+-]*$`)
	variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// most is the limit of a list of programs, in bytes.
const most = 1 << 20

// Unpack unpacks an archive into a directory, which it makes, and returns its programs. After an error
// the directory may be there in part.
func Unpack(archive io.Reader, dir string) ([]Entry, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for _, sub := range []string{Bin, "program", "lib", "etc"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	files := map[string]bool{}
	t := tar.NewReader(archive)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the archive of programs is not whole: it has no list of them")
		}
		if err != nil {
			return nil, fmt.Errorf("the archive of programs is damaged: %w", err)
		}
		if h.Name == ListName {
			return arrange(t, dir, files)
		}
		if h.Typeflag != tar.TypeReg || !fileName.MatchString(h.Name) {
			return nil, fmt.Errorf("the archive of programs has %q, which is no file of one", h.Name)
		}
		if err := unpack(t, filepath.Join(dir, h.Name)); err != nil {
			return nil, err
		}
		files[h.Name] = true
	}
}

func unpack(r io.Reader, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// arrange makes the scripts that start programs.
func arrange(list io.Reader, dir string, files map[string]bool) ([]Entry, error) {
	text, err := io.ReadAll(io.LimitReader(list, most))
	if err != nil {
		return nil, fmt.Errorf("the archive of programs is damaged: %w", err)
	}
	var programs []Entry
	if err := json.Unmarshal(text, &programs); err != nil {
		return nil, fmt.Errorf("the archive's list of programs is damaged: %w", err)
	}
	for _, p := range programs {
		if !programName.MatchString(p.Name) {
			return nil, fmt.Errorf("the archive of programs has one of the name %q", p.Name)
		}
		wanted := []string{p.File}
		if p.Loader != "" {
			wanted = append(wanted, p.Loader)
		}
		for _, s := range p.Settings {
			if !variableName.MatchString(s.Variable) {
				return nil, fmt.Errorf("%s: %q is not a variable", p.Name, s.Variable)
			}
			wanted = append(wanted, s.File)
		}
		for _, name := range wanted {
			if !files[name] {
				return nil, fmt.Errorf("%s lacks its file %q in the archive of programs", p.Name, name)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, Bin, p.Name), []byte(script(p, dir)), 0o700); err != nil { //nolint:gosec // it is started
			return nil, err
		}
	}
	return programs, nil
}

// script starts a program. Its name must be kept: mke2fs makes what it is called for.
func script(p Entry, dir string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, s := range p.Settings {
		fmt.Fprintf(&b, "%s=%s\nexport %s\n", s.Variable, quoted(dir, s.File), s.Variable)
	}
	b.WriteString("exec ")
	if p.Loader != "" {
		fmt.Fprintf(&b, "%s --library-path %s --argv0 \"$0\" ", quoted(dir, p.Loader), quoted(dir, "lib"))
	}
	fmt.Fprintf(&b, "%s \"$@\"\n", quoted(dir, p.File))
	return b.String()
}

func quoted(dir, name string) string {
	return "'" + strings.ReplaceAll(path.Join(dir, name), "'", `'\''`) + "'"
}
