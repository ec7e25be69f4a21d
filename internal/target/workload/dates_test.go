package workload

import "testing"

func TestLimitsDates(t *testing.T) {
	for release, want := range map[string]bool{
		"4.9.337-5b71bbd3": false, "5.3.0-1-amd64": false, "5.4.0": true, "5.10.1": true, "6.1.0-50-amd64": true, "10.0": true, "unknown": true,
	} {
		if limitsDates(release) != want {
			t.Errorf("%s: %t", release, !want)
		}
	}
}
