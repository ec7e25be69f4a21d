package models

import (
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines finds the line of every key and table, which the decoder does not
// report. The content is known to be valid.
func lines(content []byte) map[string]int {
	found := map[string]int{}
	var ends []int
	for i, c := range content {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	var p unstable.Parser
	p.Reset(content)
	prefix := ""
	for p.NextExpression() {
		node := p.Expression()
		var parts []string
		at := -1
		for keys := node.Key(); keys.Next(); {
			parts = append(parts, string(keys.Node().Data))
			if at < 0 && keys.Node().Raw.Length > 0 {
				at = int(keys.Node().Raw.Offset)
			}
		}
		name := strings.Join(parts, ".")
		if node.Kind == unstable.KeyValue {
			name = prefix + name
		} else {
			prefix = name + "."
		}
		if _, there := found[name]; !there && at >= 0 {
			found[name] = 1 + sort.SearchInts(ends, at)
		}
	}
	return found
}
