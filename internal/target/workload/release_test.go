package workload

import "testing"

func TestBefore(t *testing.T) {
	for release, want := range map[string]bool{
		"4.9.337-5b71bbd3": true, "5.3.0-1-amd64": true, "5.4.0": false, "5.10.1": false, "6.1.0-50-amd64": false, "10.0": false, "unknown": false,
	} {
		if before(release, 5, 4) != want {
			t.Errorf("%s: %t", release, !want)
		}
	}
	if kernelBefore(3, 2) || !kernelBefore(1000, 0) {
		t.Error("the running kernel")
	}
}
