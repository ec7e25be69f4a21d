// Hold keeps an emulated board on, as a machine to try things with: hold [-e2fsprogs] [-card MIB] BOARD DIR [PROGRAM...]. DIR
// has the board's file, and the board has the programs in /bin. It ends with its standard input.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"whichfs/internal/host/machine/board/boardtest/emulated"
)

func main() {
	makes := flag.Bool("e2fsprogs", false, "the board can make ext4")
	card := flag.Int64("card", 512, "size of its card in MiB")
	flag.Parse()
	if err := hold(*makes, *card, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "emulated board:", err)
		os.Exit(1)
	}
}

func hold(makes bool, card int64, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("which board, and in which directory?")
	}
	programs := map[string]string{}
	for _, path := range words[2:] {
		programs[filepath.Base(path)] = path
	}
	b, err := emulated.Start(context.Background(), emulated.Options{
		Board: words[0], Dir: words[1], Card: card << 20, Memory: 256 << 20, Baud: 115200, MakesExt4: makes, Programs: programs,
		Progress: func(text string) { fmt.Fprintln(os.Stderr, text) },
	})
	if err != nil {
		return err
	}
	fmt.Println(b.File())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, b.Close())
}
