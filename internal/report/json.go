package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// JSONVersion is the version of the JSON report. It grows when a field changes
// its meaning or is removed; new fields leave it unchanged.
const JSONVersion = 1

// Document is the JSON report, for programs that read one. A number that is
// not finite (an open end of an interval) is written as null.
type Document struct {
	Schema  string          `json:"schema"` // "whichfs-report"
	Version int             `json:"version"`
	Verdict verdict.Verdict `json:"verdict"`
	Trials  []result.Trial  `json:"trials"`
}

// writeJSON streams the trials, so that a large run needs no second copy in
// memory.
func writeJSON(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	head, err := json.MarshalIndent(object{
		{"schema", "whichfs-report"},
		{"version", JSONVersion},
		{"verdict", plain(reflect.ValueOf(v))},
	}, "", " ")
	if err != nil {
		return err
	}
	if _, err := w.Write(append(bytes.TrimSuffix(head, []byte("\n}")), ",\n \"trials\": ["...)); err != nil {
		return err
	}
	for i, t := range trials {
		line, err := json.Marshal(plain(reflect.ValueOf(t)))
		if err != nil {
			return err
		}
		sep := "\n  "
		if i > 0 {
			sep = ",\n  "
		}
		if _, err := w.Write(append([]byte(sep), line...)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n ]\n}\n")
	return err
}

// writeObject writes a document with its head and one member.
func writeObject(w io.Writer, schema, member string, v any) error {
	text, err := json.MarshalIndent(object{
		{"schema", schema},
		{"version", JSONVersion},
		{member, plain(reflect.ValueOf(v))},
	}, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// plain makes a value that encoding/json accepts: numbers that are not finite
// become null, and nil lists become empty ones.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case reflect.Map:
		out := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = plain(it.Value())
		}
		return out
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			return v.Interface()
		}
		var out object
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "-" || rest == "omitempty" && empty(v.Field(i)) {
				continue
			}
			out = append(out, member{name, plain(v.Field(i))})
		}
		return out
	}
	return v.Interface()
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
