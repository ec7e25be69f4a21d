package debian

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"whichfs/internal/sys/command"
)

// Download fetches packages without their dependencies, for their contents
// rather than for use.
type Download struct {
	Architecture string   // Debian's name
	Packages     []string // exact names, with "=VERSION" where a version is wanted
	Sources      []string // see Source
	Options      []string // apt's settings; see HostOptions
	Scratch      string   // directory for apt's own files and the packages, created if necessary
}

// Fetch fetches the packages once; Transient says whether to retry, Absent
// whether the suite lacks one. read gets the contents of each as a tar archive,
// in the order of Packages; it may stop early with an error. Fetch returns the
// packages' versions.
func (d Download) Fetch(ctx context.Context, progress func(string), read func(name string, archive io.Reader) error) (versions map[string]string, err error) {
	env, err := d.prepare()
	if err != nil {
		return nil, err
	}
	f := &follower{progress: progress, packages: map[string]string{}}
	dir := filepath.Join(d.Scratch, "packages")
	progress(SaysIndex)
	if err := apt(ctx, command.Options{Env: env}, "update", "--error-on=any"); err != nil {
		return nil, err
	}
	o := command.Options{Dir: dir, Env: env, Stdout: f}
	if err := apt(ctx, o, append([]string{"download"}, d.Packages...)...); err != nil {
		return nil, err
	}
	for _, name := range d.Packages {
		name, _, _ = strings.Cut(name, "=")
		found, _ := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
		if len(found) != 1 {
			return nil, fmt.Errorf("fetch the packages: apt-get left %d files of %s", len(found), name)
		}
		progress("unpacking " + name)
		err := Pipe(ctx, command.Options{}, func(r io.Reader) error { return read(name, r) }, "dpkg-deb", "--fsys-tarfile", found[0])
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", name, err)
		}
		if err := os.Remove(found[0]); err != nil {
			return nil, err
		}
	}
	return f.packages, nil
}

// CopyFile copies one file out of a package's contents.
func CopyFile(contents io.Reader, name string, to io.Writer) error {
	in := tar.NewReader(contents)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there is no %s in the package", name)
		}
		if err != nil {
			return err
		}
		if path.Clean(h.Name) == name && h.Typeflag == tar.TypeReg {
			_, err = io.Copy(to, in)
			return err
		}
	}
}

func apt(ctx context.Context, o command.Options, words ...string) error {
	_, err := command.Run(ctx, o, append([]string{"apt-get", "--quiet"}, words...)...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("fetch the packages: %w", complaint(err))
	}
	return nil
}

// prepare makes the directories and the settings of an apt that ignores this
// host's packages, and returns the variables for its environment. The settings
// are in a file, because the host's settings are read before the command line.
func (d Download) prepare() (env []string, err error) {
	scratch, err := filepath.Abs(d.Scratch)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(scratch, "\"\\\n") {
		return nil, errors.New("apt cannot represent the path " + scratch + "; set WHICHFS_CACHE to another directory")
	}
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "packages"} {
		if err := os.MkdirAll(filepath.Join(scratch, dir), 0o755); err != nil {
			return nil, err
		}
	}
	settings := []string{
		// As root, apt drops its privileges; then it cannot reach
		// these files.
		`APT::Sandbox::User "root";`,
		`APT::Architecture "` + d.Architecture + `";`, `APT::Architectures { "` + d.Architecture + `"; };`,
		`Acquire::Languages "none";`,
		`Dir::Etc::main "/dev/null";`, `Dir::Etc::parts "/dev/null";`, `Dir::Etc::sourceparts "/dev/null";`,
		`Dir::Etc::preferences "/dev/null";`, `Dir::Etc::preferencesparts "/dev/null";`,
		`Dir::Etc::sourcelist "` + scratch + `/sources.list";`,
		`Dir::State::lists "` + scratch + `/lists";`, `Dir::State::status "` + scratch + `/status";`,
		`Dir::Cache "` + scratch + `/cache";`,
	}
	for name, lines := range map[string][]string{
		"apt.conf": append(settings, d.Options...), "sources.list": d.Sources, "status": nil,
	} {
		text := strings.Join(append(lines, ""), "\n")
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return []string{"APT_CONFIG=" + scratch + "/apt.conf"}, nil
}
