package usermode

import (
	"os"
	"path/filepath"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

// yields is a module whose loading ends when one thread has yielded to another that has had far more of
// the processor: as JFS's commit thread yields to the thread of a transaction.
const yields = `#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static DECLARE_COMPLETION(begun);
static DECLARE_COMPLETION(ended);
static volatile bool done;

static int waits(void *unused)
{
	wait_for_completion(&begun);
	while (!done)
		yield();
	complete(&ended);
	return 0;
}

static int works(void *unused)
{
	msleep(10); /* the other waits */
	complete(&begun);
	mdelay(20);
	yield();
	done = true;
	return 0;
}

static int __init start(void)
{
	kthread_run(waits, NULL, "waits");
	kthread_run(works, NULL, "works");
	wait_for_completion(&ended);
	return 0;
}

static void __exit end(void) { }

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
`

// A thread of the kernel that yields to another ends, although its yielding takes no time of the processor.
func TestKernelYields(t *testing.T) {
	t.Parallel()
	m := New(Options{Agent: labtest.Counting(t), Handshake: wait.Patience})
	source := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(source, "Makefile"), []byte("obj-m := logfs.o\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(source, "logfs.c"), []byte(yields), 0o600))
	for _, p := range []*processor.Profile{nil, parse(t, "600MIPS")} {
		built, _, err := module.Build(t.Context(), "logfs", source, &virtual.Choice{Counting: p != nil}, func(line string) { t.Log(line) })
		must.Do(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(built.Dir) })
		s := begin(t, m, machine.Spec{Storage: "nand:64M", Processor: p, Modules: []string{built.File()}})
		if d := machinetest.CarryOut(t, s, "logfs", scenario.Scenario{{Work: "module-load", Phase: "module-load"}}).Done; d.Outcome != result.Done {
			t.Errorf("%+v", d)
		}
	}
}
