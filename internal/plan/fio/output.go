package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Report is the result of a run of fio, over all its jobs.
type Report struct {
	Version string // "3.33"
	Time    float64
	// User and System are the processor time of the jobs in seconds, without
	// fio's own start.
	User, System float64
	Bytes        int64 // moved, all directions
	Ops          int64 // requests
	All          Latency
	// Directions by name: "read", "write", "trim", or "mixed" if the job combines
	// them. Directions without a request are left out.
	Directions map[string]Direction
	Failures   []Failure
	Errors     int64 // after which the jobs continued
}

// Direction is the I/O of one direction.
type Direction struct {
	Bytes   int64
	Ops     int64
	Short   int64   // requests that moved less than requested
	Time    float64 // s
	Latency Latency
}

// Failure is a job that ended with an error.
type Failure struct {
	Job   string
	Errno int
}

// Names of directions in the order of reports.
var Names = []string{"read", "write", "trim", "mixed"}

// millisecond is the unit of fio's runtimes, in seconds.
const millisecond = 1e-3

// ErrNone means that there is no JSON at all; the error text has fio's own
// message.
var ErrNone = errors.New("fio wrote no results")

// output is the part of json+ that is read; everything else is ignored. Numbers
// may be in either form of fio 3, whole or not.
type output struct {
	Version string      `json:"fio version"`
	Jobs    []jobOutput `json:"jobs"`
}

type jobOutput struct {
	Name    string           `json:"jobname"`
	Group   number           `json:"groupid"`
	Error   number           `json:"error"`
	Runtime number           `json:"job_runtime"` // ms, of all its copies together
	User    number           `json:"usr_cpu"`     // per cent of that
	System  number           `json:"sys_cpu"`
	Total   number           `json:"total_err"`
	Read    *directionOutput `json:"read"`
	Write   *directionOutput `json:"write"`
	Trim    *directionOutput `json:"trim"`
	Mixed   *directionOutput `json:"mixed"`
}

type directionOutput struct {
	Bytes   number        `json:"io_bytes"`
	Ops     number        `json:"total_ios"`
	Short   number        `json:"short_ios"`
	Runtime number        `json:"runtime"` // ms
	Clat    latencyOutput `json:"clat_ns"`
	Lat     latencyOutput `json:"lat_ns"`
}

type latencyOutput struct {
	Max  number           `json:"max"` // ns
	N    number           `json:"N"`
	Bins map[string]int64 `json:"bins"` // ns → samples
}

// number is a figure from fio, null if it was not a number.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	*n = 0
	if string(text) == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a number", text)
	}
	if !(math.Abs(v) <= 1<<62) {
		return fmt.Errorf("%.40q is out of range", text)
	}
	*n = number(v)
	return nil
}

// Read parses json+ of fio 3. It skips the text before and after, where fio
// writes its messages. Jobs that follow one another (those with stonewall,
// which begins a new group) add up in time; those of one group run at the same
// time.
func Read(text []byte) (Report, error) {
	var o output
	body, err := document(text)
	if err != nil {
		return Report{}, err
	}
	if err := json.NewDecoder(bytes.NewReader(repaired(body))).Decode(&o); err != nil {
		return Report{}, fmt.Errorf("the results of fio cannot be read: %w", err)
	}
	version, ok := strings.CutPrefix(o.Version, "fio-")
	switch {
	case !ok:
		return Report{}, errors.New("the results are not from fio: they have no version")
	case strings.HasPrefix(version, "1.") || strings.HasPrefix(version, "2."):
		return Report{}, fmt.Errorf("fio %s is too old: the output format needs version 3 or later", version)
	case len(o.Jobs) == 0:
		return Report{}, errors.New("the results of fio have no jobs")
	}
	r := Report{Version: version, Directions: map[string]Direction{}}
	whole, each := map[number]float64{}, map[string]map[number]float64{}
	for _, j := range o.Jobs {
		if j.Error != 0 {
			r.Failures = append(r.Failures, Failure{Job: j.Name, Errno: int(j.Error)})
		}
		r.Errors += int64(max(0, j.Total))
		r.User += float64(max(0, j.User)) / 100 * float64(max(0, j.Runtime)) * millisecond
		r.System += float64(max(0, j.System)) / 100 * float64(max(0, j.Runtime)) * millisecond
		if moved(j.Read) || moved(j.Write) || moved(j.Trim) {
			j.Mixed = nil // the same once more
		}
		for i, d := range []*directionOutput{j.Read, j.Write, j.Trim, j.Mixed} {
			if !moved(d) {
				continue
			}
			name := Names[i]
			r.add(name, d)
			if each[name] == nil {
				each[name] = map[number]float64{}
			}
			seconds := float64(max(0, d.Runtime)) * millisecond
			each[name][j.Group] = max(each[name][j.Group], seconds)
			whole[j.Group] = max(whole[j.Group], seconds)
		}
	}
	r.Time = total(whole)
	for name, d := range r.Directions {
		d.Time = total(each[name])
		r.Directions[name] = d
	}
	return r, nil
}

func moved(d *directionOutput) bool { return d != nil && d.Ops > 0 }

func total(groups map[number]float64) (sum float64) {
	for _, g := range slices.Sorted(maps.Keys(groups)) { // always in the same order, so always the same sum
		sum += groups[g]
	}
	return sum
}

func (r *Report) add(name string, o *directionOutput) {
	d := r.Directions[name]
	bytes := int64(max(0, o.Bytes))
	d.Bytes, d.Ops, d.Short = d.Bytes+bytes, d.Ops+int64(o.Ops), d.Short+int64(max(0, o.Short))
	r.Bytes, r.Ops = r.Bytes+bytes, r.Ops+int64(o.Ops)
	// Jobs with lat_percentiles have bins that include the submission of a
	// request; others have bins of the time after it.
	l := o.Lat
	if len(l.Bins) == 0 && (len(o.Clat.Bins) > 0 || o.Clat.N > 0) {
		l = o.Clat
	}
	d.Latency.add(l, int64(o.Ops))
	r.All.add(l, int64(o.Ops))
	r.Directions[name] = d
}

// document finds the beginning of the JSON: a line that begins with a brace.
func document(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("{")) {
		return text, nil
	}
	if i := bytes.Index(text, []byte("\n{")); i >= 0 {
		return text[i+1:], nil
	}
	return nil, ErrNone
}

// repaired replaces C's representations of invalid numbers by null, outside
// strings.
func repaired(text []byte) []byte {
	if !bytes.Contains(text, []byte("nan")) && !bytes.Contains(text, []byte("inf")) {
		return text
	}
	var out []byte
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			out = append(out, c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case !inString:
			rest := bytes.TrimPrefix(text[i:], []byte("-"))
			if bytes.HasPrefix(rest, []byte("nan")) || bytes.HasPrefix(rest, []byte("inf")) {
				out = append(out, "null"...)
				i = len(text) - len(rest) + 2
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
