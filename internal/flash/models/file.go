package models

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"whichfs/internal/flash"
	"whichfs/internal/sys/tomlfile"
)

// maxFile is the maximum size of a model file, in bytes; a larger file is a
// mistake.
const maxFile = 64 << 10

// Load reads a model file. Errors name the file, the line if there is one to
// blame, the key, what is wrong and what is allowed.
func Load(path string) (flash.Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return flash.Model{}, fmt.Errorf("model file: %w", err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return flash.Model{}, fmt.Errorf("model file: %w", err)
	}
	if len(content) > maxFile {
		return flash.Model{}, fmt.Errorf("%s is larger than %d KiB, too large for a model file", path, maxFile>>10)
	}
	return Parse(path, content)
}

// Parse parses the text of a model file; path is for error messages.
func Parse(path string, content []byte) (flash.Model, error) {
	var values map[string]any
	if err := toml.Unmarshal(content, &values); err != nil {
		return flash.Model{}, tomlfile.Of(path, err)
	}
	r := reader{path: path, lines: lines(content)}
	leaves := r.flatten(values)
	for _, l := range leaves {
		if err := r.take(l.name, l.value); err != nil {
			return flash.Model{}, err
		}
	}
	if err := r.check(); err != nil {
		return flash.Model{}, err
	}
	return r.m, nil
}

// reader fills a model from the values of a file.
type reader struct {
	path  string
	lines map[string]int // of keys and tables, by their full names
	m     flash.Model
}

// leaf is a value other than a table, with its full name.
type leaf struct {
	name  string
	value any
}

// flatten returns all values in the order of the file, so that the first
// mistake in the file is the one reported.
func (r *reader) flatten(values map[string]any) []leaf {
	var all []leaf
	var walk func(prefix string, table map[string]any)
	walk = func(prefix string, table map[string]any) {
		for name, value := range table {
			full := prefix + name
			if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
				walk(full+".", inner)
				continue
			}
			all = append(all, leaf{full, value})
		}
	}
	walk("", values)
	sort.Slice(all, func(i, j int) bool {
		a, b := r.line(all[i].name), r.line(all[j].name)
		return a < b || a == b && all[i].name < all[j].name
	})
	return all
}

// line returns the line of a key, or of its table if the key has none.
func (r *reader) line(name string) int {
	for {
		if n := r.lines[name]; n > 0 {
			return n
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return 0
		}
		name = name[:dot]
	}
}

// fail returns an error about a key: "card.toml:7: media.page: …".
func (r *reader) fail(name, format string, args ...any) error {
	where := r.path
	if n := r.line(name); n > 0 {
		where = fmt.Sprintf("%s:%d", r.path, n)
	}
	return fmt.Errorf("%s: %s: %w", where, name, fmt.Errorf(format, args...))
}

// take puts one value of the file into the model.
func (r *reader) take(name string, value any) error {
	if table, ok := value.(map[string]any); ok && len(table) == 0 && isTable(name) {
		return nil // an empty [table]
	}
	if source, ok := strings.CutPrefix(name, sourcesTable+"."); ok {
		return r.source(name, source, value)
	}
	if name == fitKey {
		text, ok := value.(string)
		if !ok {
			return r.fail(name, "must be %s; found %s", notation[Text], kindOf(value))
		}
		if err := plain(text); err != nil {
			return r.fail(name, "%w", err)
		}
		r.m.Fit = text
		return nil
	}
	key, known := keyNamed(name)
	if !known {
		return r.fail(name, "unknown key%s", knownNear(name))
	}
	err := key.assign(&r.m, value)
	if errors.Is(err, errKind) {
		return r.fail(name, "must be %s; found %s", key.What(), kindOf(value))
	}
	if err != nil {
		return r.fail(name, "%w", err)
	}
	return nil
}

func (r *reader) source(name, of string, value any) error {
	if key, known := keyNamed(of); !known || !key.Figure() {
		return r.fail(name, "a source for %q, which is not a figure of a model%s", of, knownNear(of))
	}
	text, ok := value.(string)
	if !ok {
		return r.fail(name, "must be %s; found %s", notation[Text], kindOf(value))
	}
	if err := plain(text); err != nil {
		return r.fail(name, "%w", err)
	}
	if r.m.Sources == nil {
		r.m.Sources = map[string]string{}
	}
	r.m.Sources[of] = text
	return nil
}

// check validates the whole model.
func (r *reader) check() error {
	for _, name := range []string{"name", "kind", "size"} {
		if k, _ := keyNamed(name); !k.Set(r.m) {
			return r.fail(name, "missing; it is %s", k.What())
		}
	}
	faults := r.m.Check()
	sort.SliceStable(faults, func(i, j int) bool { return r.line(faults[i].Key) < r.line(faults[j].Key) })
	for _, f := range append(r.idle(), faults...) {
		if k, known := keyNamed(f.Key); known && !k.Set(r.m) {
			return r.fail(f.Key, "missing; it is %s", k.What())
		}
		return r.fail(f.Key, "%s", f.Text)
	}
	return nil
}

// idle finds keys that have no effect in a model of this kind and scheme:
// their author expects one.
func (r *reader) idle() []flash.Fault {
	var all []flash.Fault
	for _, k := range Keys {
		if !k.Set(r.m) {
			continue
		}
		if text := k.idle(r.m); text != "" {
			all = append(all, flash.Fault{Key: k.Name, Text: text})
		}
	}
	return all
}

// idle says why a key has no effect in this model; "" if it has one.
func (k Key) idle(m flash.Model) string {
	table, _, in := strings.Cut(k.Name, ".")
	kinds := []string{flash.KindFlash, flash.KindDisk, flash.KindFree}
	switch {
	case k.Name == "fat", in && contains([]string{"media", "map", "buffer", "fast", "wear", "trim", "power"}, table):
		kinds = kinds[:1]
	case table == "disk":
		kinds = kinds[1:2]
	}
	if !contains(kinds, m.Kind) {
		return fmt.Sprintf("has no effect for kind %q, only for %s", m.Kind, oneOf(kinds))
	}
	byPages := contains([]string{"map.segment", "map.open", "map.random"}, k.Name)
	if byPages && m.Map.Scheme == flash.SchemePage {
		return fmt.Sprintf("has no effect for the scheme %q", m.Map.Scheme)
	}
	if k.Name == "map.random" && m.Map.Scheme == flash.SchemeHybrid {
		return fmt.Sprintf("has no effect for the scheme %q: a log block accepts pages in any order", m.Map.Scheme)
	}
	return ""
}

// isTable reports whether keys begin with this name.
func isTable(name string) bool {
	if name == sourcesTable {
		return true
	}
	for _, k := range Keys {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}

// knownNear suggests what an unknown key could have been: the keys of its
// table, or the tables.
func knownNear(name string) string {
	table, _, in := strings.Cut(name, ".")
	var names []string
	switch {
	case in && isTable(table):
		for _, k := range Keys {
			if strings.HasPrefix(k.Name, table+".") {
				names = append(names, k.Name)
			}
		}
	case isTable(name):
		return ": it is a table, [" + name + "]"
	default:
		for _, k := range Keys {
			top, _, inTable := strings.Cut(k.Name, ".")
			if inTable {
				top = "[" + top + "]"
			}
			if !contains(names, top) {
				names = append(names, top)
			}
		}
		names = append(names, "["+sourcesTable+"]", fitKey)
	}
	return "; the keys are " + strings.Join(names, ", ")
}

// kindOf names the kind of a TOML value.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
