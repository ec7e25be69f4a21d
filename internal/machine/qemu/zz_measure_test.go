package qemu

import (
	"os"
	"strings"
	"testing"
	"encoding/json"

	"whichfs/internal/machine"
	"whichfs/internal/scenario"
)

func TestZZMeasure(t *testing.T) {
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:320M"})
	var plan scenario.Scenario
	if err := json.Unmarshal([]byte(os.Getenv("ZZ_PLAN")), &plan); err != nil { t.Fatal(err) }
	for _, c := range strings.Split(os.Getenv("ZZ_C"), ";") {
		afflicted(t, s, c, plan)
	}
}
