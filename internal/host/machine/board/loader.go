package board

import (
	"context"
	"strings"
	"time"

	"whichfs/internal/result"
)

// loaderLimit is for a command of a boot loader, which may read a kernel from a slow card or a network.
const loaderLimit = 2 * time.Minute

// load types commands of a boot loader, of which the last starts a system.
func (c *console) load(ctx context.Context, commands []string) error {
	for i, command := range commands {
		c.keep()
		if err := c.typed(command + "\n"); err != nil {
			return err
		}
		if i == len(commands)-1 {
			break
		}
		back, err := c.await(ctx, loaderLimit, func(text string) bool {
			_, after, typed := strings.Cut(plainText(text), "\n")
			return typed && c.inLoader(after)
		})
		if err != nil {
			return c.lost(err)
		}
		if !back {
			text, _ := c.so()
			return c.failure(result.LabFailed, "by hand: "+c.place.typed(), "the boot loader of machine %s does not come back from %q within %v; it said: %s", c.place.Name, command, loaderLimit, last(strings.Split(plainText(text), "\n")))
		}
	}
	c.entry.known.restarts()
	return nil
}
