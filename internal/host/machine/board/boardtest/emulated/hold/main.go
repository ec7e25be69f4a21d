// Hold keeps an emulated board on, as a machine to try things with: hold arm64|armhf DIR [PROGRAM...]. DIR has the
// board's file. It ends with its standard input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"whichfs/internal/host/machine/board/boardtest/emulated"
)

func main() {
	if err := hold(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "emulated board:", err)
		os.Exit(1)
	}
}

func hold(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("which board, and in which directory?")
	}
	programs := map[string]string{}
	for _, path := range words[2:] {
		programs[filepath.Base(path)] = path
	}
	b, err := emulated.Start(context.Background(), emulated.Options{
		Board: words[0], Dir: words[1], Card: 512 << 20, Memory: 256 << 20, Baud: 115200, Programs: programs,
		Progress: func(text string) { fmt.Fprintln(os.Stderr, text) },
	})
	if err != nil {
		return err
	}
	fmt.Println(b.File())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, b.Close())
}
