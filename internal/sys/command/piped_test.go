package command

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"whichfs/internal/testing/must"
)

// A program that ends with its input ends in peace; one that does not is killed, and that is said.
func TestPiped(t *testing.T) {
	p, err := StartPiped(Options{}, "cat")
	must.Do(t, err)
	_, err = fmt.Fprintln(p.In, "hello")
	must.Do(t, err)
	line := make([]byte, 6)
	if _, err := io.ReadFull(p.Out, line); err != nil || string(line) != "hello\n" {
		t.Errorf("%q %v", line, err)
	}
	must.Do(t, p.End("cat", time.Minute))
	// More than a pipe holds is still to be printed.
	p, err = StartPiped(Options{}, "sh", "-c", "cat; head -c 1000000 /dev/zero")
	must.Do(t, err)
	must.Do(t, p.End("the talker", time.Minute))
	p, err = StartPiped(Options{}, "sleep", "1000")
	must.Do(t, err)
	if err := p.End("the sleeper", time.Millisecond); err == nil || !strings.Contains(err.Error(), "the sleeper did not end within 1ms and was killed") {
		t.Errorf("%v", err)
	}
	if _, err := StartPiped(Options{}, "/no/such/program"); err == nil {
		t.Error("a program that is not there")
	}
}
