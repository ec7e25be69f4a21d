// whichfs-agent carries out trials where the storage is. On a host it speaks over its standard
// streams, and on a board it contains itself first; as process 1 of a lab guest it brings the guest up
// first and speaks over the guest's virtio-serial port; as the first process of a root filesystem under
// test it reports when it was started. On any machine it measures the processor.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/build"
	"whichfs/internal/target/agent"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// stamp is build.AgentMark and the version, set by the build.
var stamp string

// version is what the host is told.
func version() string {
	if stamp == "" {
		return build.Unknown
	}
	return strings.TrimRight(stamp[len(build.AgentMark):], ".")
}

func main() {
	begun := pid1.Monotonic()
	if pid1.FirstProcess(os.Args) {
		// As in guest, this returns only if the power cannot be cut.
		fmt.Println("whichfs-agent:", pid1.ReportRoot(os.Args, begun))
		return
	}
	if pid1.Watching(os.Args) {
		exit(pid1.Watch())
		return
	}
	asked := len(os.Args) == 2 && os.Args[1] == "serve"
	measured := len(os.Args) > 1 && os.Args[1] == "speed"
	onBoard := len(os.Args) > 1 && slices.Contains([]string{"board", "terminal", "tools", "digest", "clock"}, os.Args[1])
	// These are only ever requested on a user's machine, even if the agent is process 1 there (in a
	// container).
	if os.Getpid() == 1 && !asked && !measured && !onBoard {
		guest(begun)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "-version" {
		fmt.Println("whichfs-agent", version())
		return
	}
	if measured {
		exit(measure(os.Args[2:]))
		return
	}
	if onBoard {
		exit(board(os.Args[1], os.Args[2:]))
		return
	}
	if !asked {
		fmt.Fprintln(os.Stderr, "usage: whichfs-agent serve\n       whichfs-agent board\n       whichfs-agent terminal KEY [SILENCE]\n       whichfs-agent tools ARCHIVE DIRECTORY\n       whichfs-agent digest FILE\n       whichfs-agent clock\n       whichfs-agent speed [--quick] [--name NAME]\n\nserve: whichfs starts this program and talks to it over standard input and output.\nboard: the same at the end of a line, started over ssh.\nterminal: on a serial console, which it takes over.\ntools unpacks programs that were sent.\ndigest prints the SHA-256 of a file.\nclock prints the smallest step of the clock, in nanoseconds.\nspeed prints the profile of this machine's processor, for whichfs run --cpu.")
		os.Exit(2)
	}
	workload.SpareProcessor()
	exit(serve())
}

// exit ends the program if there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "whichfs-agent:", err)
		os.Exit(1)
	}
}

func serve() error {
	// A host that is gone is an error of the stream, after which everything is released. (Ignoring the
	// signal would have every program that a trial starts ignore it.)
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	// Output of libraries and children must not mix with our stream.
	stream := struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}
	if err := storage.PrivateMounts(); err != nil {
		return err
	}
	return agent.Serve(context.Background(), wire.New(stream, stream, nil), agent.Options{Version: version()})
}

func guest(begun time.Duration) {
	boot, err := pid1.Boot(begun)
	if err != nil {
		fmt.Println("whichfs-agent:", err) // the power cannot be cut either
		return
	}
	workload.SpareProcessor()
	conn := wire.New(boot.Stream, boot.Stream, nil)
	if err := agent.Serve(context.Background(), conn, agent.Options{Version: version(), AtStart: boot.Modules}); err != nil {
		fmt.Println("whichfs-agent:", err)
	}
	// Halt returns only if the kernel refuses. Process 1 then exits, which panics the kernel and so
	// ends the guest as well.
	fmt.Println("whichfs-agent:", pid1.Halt())
}
