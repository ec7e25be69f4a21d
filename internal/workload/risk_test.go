package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/scenario"
)

func TestDamages(t *testing.T) {
	if Damages(scenario.Scenario{{Work: "mkfs"}, {Work: "nonsense"}}) || !Damages(scenario.Scenario{{Work: "mkfs"}, {Work: BitRot.Name}}) {
		t.Error("a scenario is not judged by its steps")
	}
}

// Every kind of work whose file makes a bed for faults, or has states explored,
// says that it damages; who adds one cannot forget it.
func TestWhoBreaksFilesystemsSaysSo(t *testing.T) {
	files, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files["workload"].Files {
		breaks, kinds := false, []string(nil)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch called := n.Fun.(type) {
				case *ast.Ident:
					breaks = breaks || called.Name == "newBed"
				case *ast.SelectorExpr:
					of, _ := called.X.(*ast.Ident)
					breaks = breaks || of != nil && of.Name == "explore" && called.Sel.Name == "Explore"
				}
			case *ast.CompositeLit:
				if of, _ := n.Type.(*ast.Ident); of == nil || of.Name != "Kind" {
					return true
				}
				for _, e := range n.Elts {
					pair, _ := e.(*ast.KeyValueExpr)
					if pair == nil || pair.Key.(*ast.Ident).Name != "Name" {
						continue
					}
					if name, literal := pair.Value.(*ast.BasicLit); literal {
						kinds = append(kinds, strings.Trim(name.Value, `"`))
					}
				}
			}
			return true
		})
		if breaks {
			names = append(names, kinds...)
		}
	}
	if len(names) < 4 {
		t.Errorf("only %q were found to break filesystems", names)
	}
	for _, k := range All {
		if k.Damages != slices.Contains(names, k.Name) {
			t.Errorf("%s: damages %v", k.Name, k.Damages)
		}
	}
}
