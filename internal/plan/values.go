package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
)

// errKind says that a value has the wrong kind for its key; the caller has the
// key's help.
var errKind = errors.New("wrong kind of value")

// text makes the setter of a text; without a list of allowed words any text but
// the empty one is valid.
func text(field func(*File) **string, allowed ...string) func(*File, any) error {
	return func(f *File, value any) error {
		s, ok := value.(string)
		if !ok || strings.TrimSpace(s) == "" {
			return errKind
		}
		if len(allowed) > 0 && !slices.Contains(allowed, s) {
			return errKind
		}
		*field(f) = &s
		return nil
	}
}

func setCandidates(f *File, value any) error {
	list, ok := value.([]any)
	if !ok {
		return errKind
	}
	f.Candidates = make([]filesystem.Candidate, len(list))
	for i, element := range list {
		line, ok := element.(string)
		if !ok {
			return &candidateError{i, fmt.Errorf("candidate %d must be a text in quotes, not %s", i+1, kindOf(element))}
		}
		f.Candidates[i] = filesystem.Kept(line)
	}
	return checkCandidates(f.Candidates)
}

func setRounds(f *File, value any) error {
	n, ok := value.(int64)
	if !ok || n < 1 || n > MaxRounds {
		return errKind
	}
	rounds := int(n)
	f.Rounds = &rounds
	return nil
}

func setSeed(f *File, value any) error {
	n, ok := value.(int64)
	if !ok || n < 0 {
		return errKind
	}
	seed := uint64(n)
	f.Seed = &seed
	return nil
}

func setBudget(f *File, value any) error {
	s, ok := value.(string)
	if !ok {
		return errKind
	}
	budget, err := time.ParseDuration(s)
	if err != nil || budget <= 0 {
		return errKind
	}
	f.Budget = &budget
	return nil
}

func setMargin(f *File, value any) error {
	m, ok := value.(float64)
	if !ok || checkMargin(m) != nil {
		return errKind
	}
	f.Margin = &m
	return nil
}

// kindOf describes a value of a file for messages.
func kindOf(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return fmt.Sprintf("the date or time %v", v)
	}
	return fmt.Sprintf("a %T", value)
}

func setProcessor(f *File, value any) error {
	s, ok := value.(string)
	if !ok || strings.TrimSpace(s) == "" {
		return errKind
	}
	if processor.IsPath(s) && !filepath.IsAbs(s) {
		s = filepath.Join(filepath.Dir(f.Path), s)
	}
	p, err := processor.Resolve(s)
	f.Processor = &p
	return err
}
