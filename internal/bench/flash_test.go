package bench

import "testing"

// Every card can be made and measured; the results are not judged.
func TestMeasureFlash(t *testing.T) {
	for _, k := range flashCases(64 << 20) {
		f, err := measureFlash(t.Context(), k.model, 3, 2000)
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		if f.requests != 4000 || !(f.rate.median > 0) || f.memory < 64<<10 || !(f.amplification >= 1) {
			t.Errorf("%s: %+v", k.name, f)
		}
	}
}
