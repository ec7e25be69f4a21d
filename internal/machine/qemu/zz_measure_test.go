package qemu

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"whichfs/internal/machine"
	"whichfs/internal/scenario"
)

func TestZZMeasure(t *testing.T) {
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	pid := s.(*Session).guest.process.Pid()
	cpu := func() float64 {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		f := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
		var u, v int
		fmt.Sscan(f[11], &u)
		fmt.Sscan(f[12], &v)
		return float64(u+v) / 100
	}
	var plan scenario.Scenario
	if err := json.Unmarshal([]byte(os.Getenv("ZZ_PLAN")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(os.Getenv("ZZ_C"), ";") {
		for _, step := range plan {
			before := cpu()
			f, _ := afflicted(t, s, c, scenario.Scenario{step})
			x := f[step.Phase]
			fmt.Printf("MEASURE %s | %s | %.2f s cpu, wall %.2f, %v iterations\n", c, step.Phase, cpu()-before, x["wall"], x["fault.tried"])
		}
	}
}
