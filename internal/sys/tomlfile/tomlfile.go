// Package tomlfile says where in a user's TOML file a mistake is.
package tomlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Mistake is what a decoder complains about.
type Mistake struct {
	Where   string // the path, with line and column if they are known
	What    string
	Unknown string // the key, with its tables, if that is unknown
}

func (m Mistake) Error() string { return m.Where + ": " + m.What }

// Of places the error of a decoder in the file of that path.
func Of(path string, err error) Mistake {
	m := Mistake{Where: path, What: strings.TrimPrefix(err.Error(), "toml: ")}
	var bad *toml.DecodeError
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		bad = &unknown.Errors[0]
		m.Unknown = strings.Join(bad.Key(), ".")
		m.What = fmt.Sprintf("unknown key %q", m.Unknown)
	} else if !errors.As(err, &bad) {
		return m
	} else {
		m.What = strings.TrimPrefix(bad.Error(), "toml: ")
	}
	line, column := bad.Position()
	m.Where = fmt.Sprintf("%s:%d:%d", path, line, column)
	return m
}
