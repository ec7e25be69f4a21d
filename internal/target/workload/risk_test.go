package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
)

func TestDamages(t *testing.T) {
	if (scenario.Scenario{{Work: "mkfs"}, {Work: "nonsense"}}).Damages() || !(scenario.Scenario{{Work: "mkfs"}, {Work: BitRot.Name}}).Damages() {
		t.Error("a scenario is not judged by its steps")
	}
}

// The kinds of work of the agent are those known to other packages.
func TestKindsAreKnown(t *testing.T) {
	for _, k := range All {
		if _, ok := scenario.KindOf(k.Name); !ok {
			t.Errorf("%s is not in scenario.Kinds", k.Name)
		}
	}
	if len(All) != len(scenario.Kinds) {
		t.Errorf("%d kinds of work are implemented, and %d are known", len(All), len(scenario.Kinds))
	}
}

// Every kind of work whose file makes a bed for faults, flips bits, or explores states, declares that it does
// damage; the author of a new one cannot forget it.
func TestDamagingKindsDeclareIt(t *testing.T) {
	files, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	faults := map[string]string{"PowerCut": fault.PowerCut, "FlakyWrites": fault.FlakyWrites, "FlakyReads": fault.FlakyReads, "BitRot": fault.BitRot, "BadSectors": fault.BadSectors, "CrashStates": fault.CrashStates}
	var names []string
	for _, f := range files["workload"].Files {
		breaks, kinds := false, []string(nil)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch called := n.Fun.(type) {
				case *ast.Ident:
					breaks = breaks || called.Name == "newBed" || called.Name == "newFilledBed" || called.Name == "flipBit"
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
					switch name := pair.Value.(type) {
					case *ast.BasicLit:
						kinds = append(kinds, strings.Trim(name.Value, `"`))
					case *ast.SelectorExpr:
						kinds = append(kinds, faults[name.Sel.Name])
					default:
						t.Errorf("the name of a kind of work is a %T", name)
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
	for _, k := range scenario.Kinds {
		if k.Damages != slices.Contains(names, k.Name) {
			t.Errorf("%s: damages %v", k.Name, k.Damages)
		}
	}
}
