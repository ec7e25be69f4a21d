package instrument

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/steps"
)

// TestCounts compiles a program, and compares what it counts when rewritten with
// what the processor executes, instruction by instruction, when it is not.
func TestCounts(t *testing.T) {
	needs.Compiler(t)
	for _, options := range []string{"-O1", "-O2", "-O3", "-Os", "-O2 -mcmodel=large", "-O3 -fno-tree-vectorize -fomit-frame-pointer -funroll-loops"} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			assembly := filepath.Join(dir, "work.s")
			// Loops must not become calls of memcpy in memcpy.
			gcc(t, append(strings.Fields(options), "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-fno-pie", "-S", "-o", assembly, "testdata/work.c")...)
			text, err := os.ReadFile(assembly)
			if err != nil {
				t.Fatal(err)
			}
			var counting bytes.Buffer
			if err := Rewrite(&counting, bytes.NewReader(text), Checksums); err != nil {
				t.Fatal(err)
			}
			rewritten := filepath.Join(dir, "rewritten.s")
			if err := os.WriteFile(rewritten, counting.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			for name, source := range map[string]string{"plain": assembly, "counting": rewritten} {
				gcc(t, "-static", "-no-pie", "-fno-pie", "-o", filepath.Join(dir, name), "testdata/main.c", source)
			}
			const seed = 1
			result, _, _ := strings.Cut(run(t, filepath.Join(dir, "plain"), seed), "\n")
			want := result + "\n"
			for _, n := range trace(t, filepath.Join(dir, "plain"), seed) {
				want += fmt.Sprint(n, " ")
			}
			if got := strings.TrimSuffix(run(t, filepath.Join(dir, "counting"), seed), "\n"); got != want {
				t.Errorf("the program returns and counts\n%s\nand the processor\n%s", got, want)
			}
			for seed := 2; seed < 50; seed++ {
				want, _, _ := strings.Cut(run(t, filepath.Join(dir, "plain"), seed), "\n")
				if got, _, _ := strings.Cut(run(t, filepath.Join(dir, "counting"), seed), "\n"); got != want {
					t.Errorf("with seed %d it returns %s, and unchanged %s", seed, got, want)
				}
			}
		})
	}
}

func gcc(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command("gcc", words...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

func run(t *testing.T, program string, seed int) string {
	t.Helper()
	out, err := exec.Command(program, fmt.Sprint(seed)).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return string(out)
}

// trace counts what a program does from work's first instruction to its return,
// step by step. The padding of alignments, which only the assembler knows, is left
// out, and all that looks like it: gcc writes nop where it does not optimise.
func trace(t *testing.T, program string, seed int) (counts [Counters]uint64) {
	t.Helper()
	known := map[uint64]decoded{}
	last := uint64(0)
	steps.Each(t, "work", func(regs *unix.PtraceRegs, peek func(uint64, int) []byte) {
		d, ok := known[regs.Rip]
		if !ok {
			d = decode(peek(regs.Rip, 15))
			known[regs.Rip] = d
		}
		if !d.padding && (regs.Rip != last || !d.repeats) {
			counts[Checksums]++
			if d.copies > 0 {
				counts[d.copies] += regs.Rcx
			}
		}
		last = regs.Rip
	}, program, fmt.Sprint(seed))
	return counts
}

type decoded struct {
	padding, repeats bool
	copies           int
}

func decode(code []byte) (d decoded) {
	rep, wide, narrow, i := false, false, false, 0
	for ; i < len(code)-2; i++ {
		switch c := code[i]; {
		case c == 0xf3 || c == 0xf2:
			rep = true
		case c&0xf8 == 0x48:
			wide = true
		case c == 0x66:
			narrow = true
		case c != 0x2e:
			goto opcode
		}
	}
opcode:
	switch c := code[i]; c {
	case 0x90:
		d.padding = !rep
	case 0x0f:
		d.padding = code[i+1] == 0x1f
	case 0xa6, 0xa7, 0xae, 0xaf:
		d.repeats = rep
	case 0xa4, 0xaa:
		d.repeats, d.copies = rep, Bytes
	case 0xa5, 0xab:
		d.repeats, d.copies = rep, Longs
		if wide {
			d.copies = Quads
		} else if narrow {
			d.copies = Words
		}
	}
	if !d.repeats {
		d.copies = 0
	}
	return d
}
