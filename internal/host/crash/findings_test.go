package crash

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/qemu/qemutest"
	"whichfs/internal/testing/must"
)

// page is a document of docs/findings: a script that shows the finding, and a table of what it printed last, by
// kernel and arguments.
type page struct {
	name, script string
	arguments    []string
	rows         map[string][]string // by series
}

var (
	scriptBlock = regexp.MustCompile("(?ms)^```bash\n(.*?)^```")
	tableRow    = regexp.MustCompile(`(?m)^\| (\S+) \| (.*) \|$`)
)

func readPage(name, text string) (page, error) {
	p := page{name: name, rows: map[string][]string{}}
	for _, section := range []string{"**What is lost.**", "**Precondition.**", "## Reproducer", "Expected", "Actual", "## Kernels", "## Reason", "## Upstream", "## Workaround"} {
		if !strings.Contains(text, "\n"+section) {
			return p, fmt.Errorf("%s has no %q", name, section)
		}
	}
	blocks := scriptBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) != 1 {
		return p, fmt.Errorf("%s has %d scripts", name, len(blocks))
	}
	p.script = blocks[0][1]
	for i, row := range tableRow.FindAllStringSubmatch(text, -1) {
		cells := strings.Split(row[2], " | ")
		if i > 0 {
			p.rows[row[1]] = cells
			continue
		}
		for _, c := range cells {
			arguments, ok := strings.CutPrefix(strings.Trim(c, "`"), name+".sh")
			if !ok {
				return p, fmt.Errorf("%s: a column is called %s", name, c)
			}
			p.arguments = append(p.arguments, arguments)
		}
	}
	for series, cells := range p.rows {
		if len(cells) != len(p.arguments) {
			return p, fmt.Errorf("%s: the row of %s has %d cells, not %d", name, series, len(cells), len(p.arguments))
		}
	}
	return p, nil
}

// differs says where the page's row of a kernel is not what its script has printed.
func (p page) differs(series string, printed []string) error {
	row := p.rows[series]
	if row == nil {
		return fmt.Errorf("%s has no row of %s; its script prints %s", p.name, series, strings.Join(printed, " | "))
	}
	if !slices.Equal(row, printed) {
		return fmt.Errorf("%s says of %s: %s; its script prints %s", p.name, series, strings.Join(row, " | "), strings.Join(printed, " | "))
	}
	return nil
}

func pages(t *testing.T) (all []page) {
	t.Helper()
	files, err := filepath.Glob("../../../docs/findings/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d findings, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.Do(t, err)
		p, err := readPage(strings.TrimSuffix(filepath.Base(file), ".md"), string(text))
		must.Do(t, err)
		all = append(all, p)
	}
	return all
}

// typed is what is typed into a guest's shell: the pages' scripts, and a line of the screen for what each printed last.
func typed(all []page) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "cat >/tmp/%s.sh <<'END'\n%sEND\n", p.name, p.script)
		for i, arguments := range p.arguments {
			fmt.Fprintf(&b, "echo \"=$(sh -e /tmp/%[1]s.sh%[3]s 2>&1 | tail -n 1)= %[1]s %[2]d\"\n", p.name, i, arguments)
		}
	}
	return b.String()
}

var printed = regexp.MustCompile(`(?m)^=(.*)= (\S+) (\d+)\r*$`)

// What the scripts of docs/findings print in a new guest of each kernel that the lab has is what the pages say.
func TestFindings(t *testing.T) {
	t.Parallel()
	m, all := qemutest.Lab(t), pages(t)
	there := map[string]bool{lab.Offer{}.Series(): true} // the image's own
	home, err := lab.Home()
	must.Do(t, err)
	kept, err := filepath.Glob(filepath.Join(home, "kernels/*/kernel.json"))
	must.Do(t, err)
	for _, file := range kept {
		series := strings.Join(strings.SplitN(filepath.Base(filepath.Dir(file)), ".", 3)[:2], ".")
		if all[0].rows[series] != nil {
			there[series] = true
		}
	}
	for series := range all[0].rows {
		if !there[series] {
			t.Logf("not compared: Linux %s, which the lab does not have; whichfs lab build --kernels %s fetches it", series, series)
		}
	}
	for _, series := range slices.Sorted(maps.Keys(there)) {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			var screen bytes.Buffer
			if err := m.Shell(t.Context(), strings.NewReader(typed(all)), &screen, machine.Spec{Storage: "disk:1M", Kernel: series, Work: t.TempDir()}); err != nil {
				t.Fatalf("%v\n%s", err, screen.String())
			}
			got := map[string][]string{}
			for _, line := range printed.FindAllStringSubmatch(screen.String(), -1) {
				got[line[2]] = append(got[line[2]], line[1])
			}
			for _, p := range all {
				// Debian's kernels that are not the image's are kept without the device mapper.
				if strings.Contains(strings.Join(got[p.name], " "), "Module dm-") {
					t.Logf("%s: not compared: this kernel of the lab has no device mapper", p.name)
					continue
				}
				if err := p.differs(series, got[p.name]); err != nil {
					t.Errorf("%v\n%s", err, screen.String())
				}
			}
		})
	}
}

func TestFindingsTable(t *testing.T) {
	for _, p := range pages(t) {
		for series, row := range p.rows {
			if err := p.differs(series, row); err != nil {
				t.Error(err)
			}
			for _, wrong := range [][]string{nil, row[1:], append([]string{"kept"}, row[1:]...)} {
				if p.differs(series, wrong) == nil {
					t.Errorf("%s: %q passes for the row of %s", p.name, wrong, series)
				}
			}
		}
		if p.differs("5.4", []string{"lost"}) == nil {
			t.Errorf("%s: a kernel without a row passes", p.name)
		}
	}
	if _, err := readPage("x", "no page"); err == nil {
		t.Error("a page of nothing passes")
	}
}
