package labguest

import "testing"

// A guest that ends because the agent does is explained by the agent's last words.
func TestPanicLine(t *testing.T) {
	for _, c := range []struct {
		console []string
		want    string
	}{
		{nil, ""},
		{[]string{"panic: not the kernel's"}, ""},
		{[]string{"[    3.1] Kernel panic - not syncing: VFS: Unable to mount root fs "}, "Kernel panic - not syncing: VFS: Unable to mount root fs"},
		{[]string{"panic: runtime error: slice bounds out of range [:-1]", "", "goroutine 18 [running]:", "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000200"},
			"the agent ended with panic: runtime error: slice bounds out of range [:-1]"},
		{[]string{"fatal error: out of memory", "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000200"}, "the agent ended with fatal error: out of memory"},
		{[]string{"fatal error: out of memory", "Kernel panic - not syncing: hung_task: blocked tasks"}, "Kernel panic - not syncing: hung_task: blocked tasks"},
	} {
		if got := PanicLine(c.console); got != c.want {
			t.Errorf("%q: %q, want %q", c.console, got, c.want)
		}
	}
}
