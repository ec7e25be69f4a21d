package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

const aboutProcessors = "The runs differ in the processor alone. For each order: the best by processor, slowest first (ties are joined with =), and who overtakes whom from one processor to the next. " +
	"The speed at which two cross is interpolated as if their ratio were a power of the speed; a run there narrows it down. Not settled: the intervals of the two overlap."

// mostOvertakings is how many changes a text lists for each order; the page lists all.
const mostOvertakings = 5

// mostTied is how many candidates that share the best place are named.
const mostTied = 4

// processorsSection says where an order changes with the processor.
func processorsSection(p *verdict.Processors) doc.Section {
	if p == nil {
		return doc.Section{}
	}
	var list []doc.Item
	for _, o := range p.Orders {
		item := doc.Item{Lead: o.Title, Text: bestText(o, p.List)}
		if o.Extra {
			item.In = doc.Page
		}
		shown, hidden := 0, 0
		for _, leads := range []bool{true, false} {
			for _, c := range o.Changes {
				if c.Leads != leads {
					continue
				}
				sub := doc.Item{Mark: "·", Text: overtakingText(c, p.List, ""), Muted: !leads}
				if shown++; !leads || shown > mostOvertakings {
					sub.In = doc.Page
					hidden++
				}
				item.Sub = append(item.Sub, sub)
			}
		}
		if hidden > 0 {
			item.Sub = append(item.Sub, doc.Item{Mark: "·", Muted: true, In: doc.Full, Text: "and " + units.Count(hidden, "other change") + " of places, which the page and the JSON list"})
		}
		if text := sameOrder(o, p.List); text != "" {
			item.Sub = append(item.Sub, doc.Item{Mark: "·", Muted: true, Text: text})
		}
		list = append(list, item)
	}
	return doc.Section{ID: "processors", Title: "What the processor changes", Nav: "Processors", Body: []doc.Block{doc.Para{Text: aboutProcessors}, doc.Items{List: list}}}
}

// processorsBrief are the changes of the overall orders that concern the best place.
func processorsBrief(p *verdict.Processors) []doc.Item {
	if p == nil {
		return nil
	}
	var list []doc.Item
	for _, o := range p.Orders {
		for _, c := range o.Changes {
			if o.Use && c.Leads && len(list) < mostOvertakings {
				list = append(list, doc.Item{Lead: "processor", Text: overtakingText(c, p.List, o.Title+" work")})
			}
		}
	}
	return list
}

// bestText is who is best on which processors: "lzo at 200MIPS; lz4hc = zstd from 600MIPS to 2000MIPS".
// Neighbours with the same ones are joined, whichever of them has the lowest figure.
func bestText(o verdict.ProcessorOrder, list []verdict.Processor) string {
	var parts []string
	for from := 0; from < len(o.Best); {
		to := from
		for to+1 < len(o.Best) && sameBest(o.Best[from], o.Best[to+1]) {
			to++
		}
		parts = append(parts, bestWord(o.Best[from])+" "+rangeText(list[from], list[to]))
		from = to + 1
	}
	return strings.Join(parts, "; ")
}

func bestWord(b verdict.BestPlace) string {
	if b.Candidate == "" {
		return "no figure"
	}
	names := b.Names()
	if more := len(names) - mostTied; more > 1 {
		names = append(names[:mostTied:mostTied], fmt.Sprintf("%d more", more))
	}
	text := strings.Join(names, " = ")
	if b.Open {
		text += " (not settled)"
	}
	return text
}

func sameBest(a, b verdict.BestPlace) bool {
	x, y := a.Names(), b.Names()
	slices.Sort(x)
	slices.Sort(y)
	return a.Open == b.Open && slices.Equal(x, y)
}

func rangeText(from, to verdict.Processor) string {
	if from.Name == to.Name {
		return "at " + from.Name
	}
	return "from " + from.Name + " to " + to.Name
}

// sameOrder says over which processors the order stays. It is empty if a change of places is listed, or
// if no two candidates can be compared.
func sameOrder(o verdict.ProcessorOrder, list []verdict.Processor) string {
	switch over := rangeText(list[0], list[len(list)-1]); {
	case len(o.Changes) > 0 || o.Compared == 0:
		return ""
	case o.Unsettled > 0:
		return "no change of places is settled " + over
	default:
		return "the order is the same " + over
	}
}

// overtakingText is a change of places; at names the order where its context does not.
func overtakingText(c verdict.Overtaking, list []verdict.Processor, at string) string {
	text := fmt.Sprintf("between %s and %s", c.Slower, c.Faster)
	if c.Near > 0 {
		text += ", near " + speedText(c.Near, list)
	}
	text += fmt.Sprintf(": %s overtakes %s", c.Candidate, c.Overtaken)
	if at != "" {
		text += " at " + at
	}
	if c.Open != "" {
		text += ", not settled at " + c.Open
	}
	return text
}

// speedText is the speed of a crossing with two digits, or as many as keep it between the same processors.
func speedText(near float64, list []verdict.Processor) string {
	for digits := 2; ; digits++ {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(near/1e6, 'g', digits, 64), 64) // its own output
		moved := slices.ContainsFunc(list, func(p verdict.Processor) bool {
			return p.Speed == 1e6*rounded || (p.Speed < near) != (p.Speed < 1e6*rounded)
		})
		if !moved || digits == 6 {
			return strconv.FormatFloat(rounded, 'f', -1, 64) + " MIPS"
		}
	}
}
