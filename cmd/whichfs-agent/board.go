package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"time"

	"whichfs/internal/target/agent/remote"
	"whichfs/internal/target/agent/terminal"
	"whichfs/internal/target/speed"
	"whichfs/internal/target/toolbox"
)

// board carries out what a host asks of a board that it has just sent this program to.
func board(command string, words []string) error {
	switch {
	case command == "board" && len(words) == 0:
		return remote.Serve("serve")
	case command == "terminal" && (len(words) == 1 || len(words) == 2):
		silence := time.Duration(0) // the usual one
		if len(words) == 2 {
			var err error
			if silence, err = time.ParseDuration(words[1]); err != nil {
				return err
			}
		}
		return terminal.Serve(os.Stdin, os.Stdout, words[0], silence)
	case command == "tools" && len(words) == 2:
		return unpack(words[0], words[1])
	case command == "digest" && len(words) == 1:
		return digest(words[0])
	case command == "clock" && len(words) == 0:
		step, err := speed.Step()
		if err != nil {
			return err
		}
		fmt.Println(step.Nanoseconds())
		return nil
	}
	return fmt.Errorf("%s: unknown arguments %q", command, words)
}

// unpack unpacks programs that the host has sent.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	_, err = toolbox.Unpack(f, dir)
	return err
}

// digest prints the SHA-256 of a file as sha256sum does, which not every board has.
func digest(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	fmt.Printf("%x  %s\n", hash.Sum(nil), path)
	return nil
}
