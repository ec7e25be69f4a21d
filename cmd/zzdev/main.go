package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"whichfs/internal/dataset"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/machine/local"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/study"
	"whichfs/internal/wire"
)

func main() {
	ctx := context.Background()
	st, _ := study.ByName("bootlin-2023")
	sc := st.Scales["quick"]
	tree, err := dataset.Get(ctx, sc.Tree, func(s string) { fmt.Println(s) })
	if err != nil { fmt.Println(err); os.Exit(1) }
	tree.Name = "tree"
	fmt.Printf("tree %+v\n", tree)
	stream := dataset.Stream("stream", 16<<20, 1)
	var m machine.Machine = qemu.New(qemu.Options{Progress: func(s string) { fmt.Println(s) }})
	spec := machine.Spec{Storage: "disk:1G", Work: os.TempDir()}
	if os.Args[1] == "local" { m = local.New(); spec.Storage = "loop:1G" }
	spec.Data = append(spec.Data, tree, stream)
	t0 := time.Now()
	s, err := m.Start(ctx, spec)
	if err != nil { fmt.Printf("%v\n%+v\n", err, err); os.Exit(1) }
	fmt.Println("ready", time.Since(t0))
	defer s.Close()
	cands := sc.Candidates
	if len(os.Args) > 2 { cands = strings.Split(os.Args[2], ";") }
	for i := range cands { cands[i] = strings.TrimSpace(cands[i]) }
	sup, err := s.Support(ctx, cands)
	fmt.Printf("%+v %v\n", sup.Candidates, err)
	for _, c := range cands {
		p, _ := filesystem.Parse(c)
		t0 := time.Now()
		var sum float64
		d, err := s.Trial(ctx, wire.Trial{Candidate: c, Scenario: st.Scenario(p.Filesystem().ReadOnly, sc), StepLimit: 120}, machine.Events{Figures: func(f wire.Figures) {
			fmt.Printf("  %-15s", f.Phase)
			for _, x := range f.Measurements {
				if x.Metric == "wall" && x.Absent == "" { sum += x.Value; fmt.Printf(" %.4f", x.Value) }
				if x.Metric == "wall" && x.Absent != "" { fmt.Printf(" %s", x.Absent) }
				if os.Getenv("V") != "" && x.Metric != "wall" { fmt.Printf(" %s=%.4g%s", x.Metric, x.Value, x.Absent) }
				if strings.HasPrefix(x.Metric, "space.u") || x.Metric == "agent.mallocs" || x.Metric=="data" || x.Metric == "module.size" { fmt.Printf(" %s=%.4g", x.Metric, x.Value) }
			}
			for _, n := range f.Notes { fmt.Printf("\n     note %s", n.Text) }
			for _, n := range f.Options { fmt.Printf("\n     option %+v", n) }
			fmt.Println()
		}})
		fmt.Printf("%s: %+v %v total %.2f overhead %.2f\n", c, d, err, time.Since(t0).Seconds(), time.Since(t0).Seconds()-sum)
		if err != nil { if cc, ok := s.(machine.Consoler); ok { fmt.Println(strings.Join(cc.Console(), "\n")) }; return }
	}
}
