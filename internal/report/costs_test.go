package report

import (
	"bytes"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// The work of a processor that is charged to the clock has a table of its own, which other runs lack.
func TestCostsShowTheProcessorsWork(t *testing.T) {
	v, trials := toySample(t)
	const title = "What the processor does in that time"
	written := func() (all [2]string) {
		var text, html bytes.Buffer
		if err := Text(&text, v, TextOptions{Width: 120}); err != nil {
			t.Fatal(err)
		}
		if err := writeHTML(&html, v, trials); err != nil {
			t.Fatal(err)
		}
		return [2]string{text.String(), html.String()}
	}
	for _, all := range written() {
		if strings.Contains(all, title) {
			t.Error("work is shown of a run that counts none")
		}
	}
	v.Costs.Rows[0].Work = map[string]verdict.Figure{
		result.Instructions:          {Estimate: verdict.Interval{Value: 123e6, N: 1}, Unit: "instr"},
		result.InstructionsChecksums: {Estimate: verdict.Interval{Value: 4.5e6, N: 1}, Unit: "instr"},
		result.ProcessorCopied:       {Estimate: verdict.Interval{Value: 3 << 20, N: 1}, Unit: "B"},
		result.ProcessorCalls:        {Estimate: verdict.Interval{Value: 678, N: 1}, Unit: "1"},
	}
	for _, all := range written() {
		for _, want := range []string{title, "Compressing", "Checksums", "123 Minstr", "4.50 Minstr", "3.00 MiB", "678"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %q", want)
			}
		}
	}
}
