package twin

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/sys/units"
)

// wide is the width at which sources are wrapped, in letters.
const wide = 100

// Show prints a model: its figures with their sources, aligned.
func Show(w io.Writer, m flash.Model) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", m.Name, m.Title)
	fmt.Fprintf(&b, "%s, %s\n", units.Value(float64(m.Size), "B"), models.Inside(m))
	if m.Fit != "" {
		fmt.Fprintln(&b, wrap("fit: "+m.Fit, wide, "     "))
	}
	var key, value int
	for _, k := range models.Keys {
		if k.Figure() && k.Set(m) {
			key, value = max(key, len(k.Name)), max(value, utf8.RuneCountInString(k.Print(m)))
		}
	}
	fmt.Fprintf(&b, "\n%-*s  %-*s  %s\n", key, "FIGURE", max(value, len("VALUE")), "VALUE", "SOURCE")
	value = max(value, len("VALUE"))
	for _, k := range models.Keys {
		if !k.Figure() || !k.Set(m) {
			continue
		}
		printed := k.Print(m)
		pad := strings.Repeat(" ", value-utf8.RuneCountInString(printed))
		source := m.Sources[k.Name]
		if source == "" {
			source = "none given"
		}
		indent := strings.Repeat(" ", key+value+4)
		fmt.Fprintf(&b, "%-*s  %s%s  %s\n", key, k.Name, printed, pad, wrap(source, max(wide-len(indent), 40), indent))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ShowSpeeds prints what a model reaches in virtual time.
func ShowSpeeds(w io.Writer, s models.Speeds) error {
	if s.Read == 0 {
		_, err := fmt.Fprintln(w, "\nNothing takes time on this model.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nThe resulting speeds of %s of it, in virtual time and without a host\n", units.Value(s.Measured, "B"))
	perSecond := func(v float64) string { return units.Value(v, "1") + "/s" }
	fmt.Fprintf(t, "sequential reading\t%s\n", units.Value(s.Read, "B/s"))
	fmt.Fprintf(t, "sequential writing, sustained\t%s\n", units.Value(s.Write, "B/s"))
	fmt.Fprintf(t, "sequential writing, the first 16 MiB\t%s\n", units.Value(s.Burst, "B/s"))
	fmt.Fprintf(t, "4 KiB writes in order\t%s\n", perSecond(s.SmallWrite))
	fmt.Fprintf(t, "4 KiB random reads, one at a time\t%s\n", perSecond(s.RandomRead))
	fmt.Fprintf(t, "4 KiB random reads, queued\t%s\n", perSecond(s.QueuedRandomRead))
	fmt.Fprintf(t, "4 KiB random writes, one at a time, steady\t%s\n", perSecond(s.RandomWrite))
	fmt.Fprintf(t, "4 KiB random writes, queued, steady\t%s\n", perSecond(s.QueuedRandomWrite))
	if s.RandomAmplification > 0 {
		fmt.Fprintf(t, "bytes programmed per byte of the random writes\t%s\n", units.Ratio(s.RandomAmplification))
	}
	return t.Flush()
}

// ShowComparison prints rows as a table, followed by the summary.
func ShowComparison(w io.Writer, rows []Row, summary string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FINDING\tMEASURED\tTWIN\tRATIO")
	for _, r := range rows {
		if !r.Curve {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, r.Measured, r.Twin, verdict(r))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	first := true
	for _, r := range rows {
		if !r.Curve {
			continue
		}
		if first {
			fmt.Fprintln(t, "\nCURVE\tMEASURED\tTWIN\tMEAN RATIO\tWORST RATIO")
			first = false
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s at %s\n", r.Name, r.Measured, r.Twin, units.Ratio(r.Ratio), units.Ratio(r.Worst), r.At)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n"+wrap(summary, wide, ""))
	return err
}

// verdict is the ratio, or says whether two texts are the same.
func verdict(r Row) string {
	switch {
	case r.Ratio > 0:
		return units.Ratio(r.Ratio)
	case r.Same:
		return "same"
	}
	return "different"
}

// wrap breaks a text at spaces and indents continuation lines.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case line+1+n > width:
			b.WriteString("\n" + indent)
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += n
	}
	return b.String()
}
