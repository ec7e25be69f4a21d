package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"whichfs/internal/target/mtd"
)

// erase is Discard for raw flash. note says how many blocks it erased and which kept their
// contents.
func (c *Claim) erase(ctx context.Context) (note string, err error) {
	right, err := c.Right(nil, 0)
	if err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	defer func() { err = errors.Join(err, right.Close()) }()
	e, err := right.flash.EraseAll(ctx)
	if err != nil {
		return "", fmt.Errorf("emptying %s: %w", c.named, err)
	}
	if e.Erased == 0 && len(e.Failed) > 0 {
		return "", fmt.Errorf("emptying %s: no block can be erased: %w", c.named, e.First)
	}
	return emptied(e), nil
}

func emptied(e mtd.Emptied) string {
	if e.Bad == 0 && len(e.Failed) == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d erase blocks were erased", e.Erased)}
	if e.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d are bad", e.Bad))
	}
	if n := len(e.Failed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be erased and keep their contents (the first: %v)", n, e.First))
	}
	return strings.Join(parts, ", ")
}
