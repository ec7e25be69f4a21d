package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/flash/models"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// A twin is named as a model, as a file, or as storage; nothing else predicts anything.
func TestTwins(t *testing.T) {
	t.Chdir(t.TempDir())
	m, err := models.ByName("sd-basic")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"my-card.toml", "sd-a2.toml"} {
		if err := os.WriteFile(name, []byte(models.Write(m)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := filepath.Abs("my-card.toml")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"sd-basic": "sim:sd-basic", "sd-basic,2G": "sim:sd-basic,2G", " sim:sd-basic,2G": "sim:sd-basic,2G", "sd-a2": "sim:sd-a2",
		"my-card": "sim:my-card.toml", "my-card,2G": "sim:my-card.toml,2G", "./my-card.toml,2G": "sim:./my-card.toml,2G", "sim:my-card.toml": "sim:my-card.toml",
		whole: "sim:" + whole, whole + ",1G": "sim:" + whole + ",1G",
	} {
		if got, err := twins([]string{text}); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"/dev/sdb": "storage /dev/sdb is none", "disk:1G": "storage disk:1G is none", "nand:128M": "is none", "your-card": `there is no model "your-card"`,
		"./none.toml": "no such file", "sd-basic,1": "multiple of 1 MiB", "sim:": "the model is missing", "": "",
	} {
		_, err := twins([]string{text})
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, want) || !strings.Contains(e.Hint, "whichfs probe") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A prediction needs a processor and a card, has rounds enough for intervals, and says what it is for.
func TestPredictions(t *testing.T) {
	t.Parallel()
	plans := func(q Ask) ([]plan.Plan, error) {
		p, _, err := q.Plans()
		return p, err
	}
	// bootlin-2010 has two rounds on a card.
	for study, rounds := range map[string]int{"bootlin-2023": 3, "bootlin-2010": plan.PredictionRounds, "devbuild-gist": 3} {
		p, err := plans(Ask{Study: study, Predict: true, Storage: []string{"sd-basic,1G"}, Processors: []string{"bbb"}})
		if err != nil || len(p) != 1 || p[0].Rounds != rounds || p[0].Predicted != "BeagleBone Black (bbb) on model sd-basic" || !p[0].Virtual() {
			t.Errorf("%s: %v, %+v", study, err, p)
		}
	}
	p, err := plans(Ask{Study: "bootlin-2023", Predict: true, Storage: []string{"sd-basic,1G", "emmc,1G"}, Processors: []string{"600MIPS"}, Rounds: 1, Memory: []string{"512M"}})
	if err != nil || len(p) != 2 || p[0].Rounds != 1 || p[0].Predicted != "600MIPS on model sd-basic" || p[1].Predicted != "600MIPS on model emmc" || p[0].Memory != 512<<20 {
		t.Errorf("%v, %+v", err, p)
	}
	if run, err := (&App{}).newRun(p[0]); err != nil || run.Predicted != p[0].Predicted {
		t.Errorf("%v, %+v", err, run)
	}
	p, err = plans(Ask{Study: "bootlin-2010", Storage: []string{"sim:sd-basic,1G"}, Processors: []string{"bbb"}})
	if err != nil || p[0].Rounds != 2 || p[0].Predicted != "" {
		t.Errorf("a run: %v, %+v", err, p)
	}
	for want, q := range map[string]Ask{
		"no --cpu is given":     {Study: "bootlin-2023", Predict: true, Storage: []string{"sd-basic"}},
		"no --storage is given": {Study: "bootlin-2023", Predict: true, Processors: []string{"bbb"}},
		"measures no times":     {Study: "elc-2015-reliability", Predict: true, Storage: []string{"sd-basic"}, Processors: []string{"bbb"}},
		"--memory: ":            {Study: "bootlin-2023", Memory: []string{"lots"}},
		"machine local has":     {Study: "bootlin-2023", Memory: []string{"512M"}, Machine: "local", Storage: []string{"loop:1G"}},
		"instruction counts do": {Study: "bootlin-2023", Memory: []string{"512M"}, Clock: result.ClockInstructions},
	} {
		var e *result.Failure
		if _, err := plans(q); !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
