package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"whichfs/internal/result"
)

// The highest rate is that of the fastest whole second, whatever the mean; a phase of less than a
// second has none.
func TestPeak(t *testing.T) {
	stat := filepath.Join(t.TempDir(), "stat")
	ok := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	have := func(read, written int) disk {
		text := fmt.Sprintf("0 0 %d 0 0 0 %d 0 0 0 0\n", read, written)
		ok(os.WriteFile(stat, []byte(text), 0o644))
		d, err := parseDisk([]byte(text))
		ok(err)
		return d
	}
	rates := func(p *peak) (read, written result.Measurement) {
		var f figures
		f.peaks(p, nil)
		return f.all[0], f.all[1]
	}
	for _, c := range []struct {
		seconds       float64
		read, written []int // sectors by the middle of each second
		wantR, wantW  float64
		absent        string
	}{
		{2.9, []int{4000, 5000, 90000}, []int{200, 200, 200}, 4000 * 512, 200 * 512, ""},
		{0.5, []int{1000}, []int{0}, 0, 0, "it took less than a second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := watchPeak(stat, have(0, 0))
			left := time.Duration(c.seconds * float64(time.Second))
			for i := range c.read {
				half := min(second/2, left)
				time.Sleep(half)
				have(c.read[i], c.written[i])
				time.Sleep(min(second/2, left-half))
				left -= second
			}
			synctest.Wait()
			p.stop()
			read, written := rates(p)
			if read.Value != c.wantR || written.Value != c.wantW || read.Absent != c.absent || written.Absent != c.absent {
				t.Errorf("after %v s: %+v, %+v", c.seconds, read, written)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := watchPeak(stat, have(0, 0))
		ok(os.Remove(stat))
		time.Sleep(2 * second)
		synctest.Wait()
		p.stop()
		if read, written := rates(p); read.Absent == "" || written.Absent == "" {
			t.Errorf("without counters: %+v, %+v", read, written)
		}
	})
}
