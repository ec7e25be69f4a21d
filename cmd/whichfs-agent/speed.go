package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/hardware"
	"whichfs/internal/target/speed"
)

// measure prints the profile of this machine's processor, and warnings to standard error.
func measure(words []string) error {
	flags := flag.NewFlagSet("whichfs-agent speed", flag.ExitOnError)
	quick := flags.Bool("quick", false, "measure for 3 s instead of 30 s")
	name := flags.String("name", "measured", "the profile's `name`")
	if err := flags.Parse(words); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; the flags are --quick and --name NAME", flags.Arg(0))
	}
	lasting := speed.Long
	if *quick {
		lasting = speed.Quick
	}
	m, err := speed.Measure(*name, lasting)
	if err != nil {
		return err
	}
	where := speed.Where{Machine: hardware.Machine(), Agent: version(), At: time.Now()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		where.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if warning := m.Warning(); warning != "" {
		fmt.Fprintln(os.Stderr, "whichfs-agent:", warning)
	}
	fmt.Print(m.Text(where))
	return nil
}
