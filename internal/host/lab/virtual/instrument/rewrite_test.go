package instrument

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
)

// ident ends what gcc compiled.
const ident = "\t.ident\t\"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0\"\n"

// saved is an addition where the flags are read later.
func saved(n string) string {
	return "leaq -128(%rsp), %rsp; pushfq; addq " + n + "; popfq; leaq 128(%rsp), %rsp"
}

var rewrites = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"a function", "f:\n\tmovq %rdi, %rax\n\tret\n", "f:\n\taddq $2, tt_work+0; movq %rdi, %rax\n\tret\n"},
	{"calls do not end blocks", "\tcall g\n\tcall *%rax\n\tret\n", "\taddq $3, tt_work+0; call g\n\tcall *%rax\n\tret\n"},
	{"a loop", "\txorl %eax, %eax\n.L2:\n\tincl %eax\n\tcmpl %edi, %eax\n\tjne .L2\n\tret\n",
		"\taddq $1, tt_work+0; xorl %eax, %eax\n.L2:\n\taddq $3, tt_work+0; incl %eax\n\tcmpl %edi, %eax\n\tjne .L2\n\taddq $1, tt_work+0; ret\n"},
	{"flags live across the block", "\tcmpl %edi, %eax\n\tje .L1\n\tmovl %eax, %edx\n\tjb .L1\n\tnop\n.L1:\n\tret\n",
		"\taddq $2, tt_work+0; cmpl %edi, %eax\n\tje .L1\n\t" + saved("$2, tt_work+0") + "; movl %eax, %edx\n\tjb .L1\n\taddq $1, tt_work+0; nop\n.L1:\n\taddq $1, tt_work+0; ret\n"},
	{"flags live at the beginning", "\tcmpl %edi, %eax\n\tje .L1\n\tsetb %al\n\taddl $1, %eax\n.L1:\n\tret\n",
		"\taddq $2, tt_work+0; cmpl %edi, %eax\n\tje .L1\n\tsetb %al\n\taddq $2, tt_work+0; addl $1, %eax\n.L1:\n\taddq $1, tt_work+0; ret\n"},
	{"flags dead behind the last alone", "\tcmpl %edi, %eax\n\tje .L1\n\tsetb %al # carry\n.L1:\n\tret\n",
		"\taddq $2, tt_work+0; cmpl %edi, %eax\n\tje .L1\n\tsetb %al; addq $1, tt_work+0 # carry\n.L1:\n\taddq $1, tt_work+0; ret\n"},
	{"dec leaves the carry", "\tcmpl %edi, %eax\n.L1:\n\tdecl %ecx\n\tjb .L1\n\tret\n",
		"\taddq $1, tt_work+0; cmpl %edi, %eax\n.L1:\n\t" + saved("$2, tt_work+0") + "; decl %ecx\n\tjb .L1\n\taddq $1, tt_work+0; ret\n"},
	{"a shift by 0", "\tcmpl %edi, %eax\n.L1:\n\tsall %cl, %edx\n\tje .L1\n\tshll $2, %edx\n\tje .L1\n\tret\n",
		"\taddq $1, tt_work+0; cmpl %edi, %eax\n.L1:\n\t" + saved("$2, tt_work+0") + "; sall %cl, %edx\n\tje .L1\n\taddq $2, tt_work+0; shll $2, %edx\n\tje .L1\n\taddq $1, tt_work+0; ret\n"},
	{"an unknown instruction reads the flags", "\tjmp .L1\n.L1:\n\tmystery %eax\n\tret\n",
		"\t" + saved("$1, tt_work+0") + "; jmp .L1\n.L1:\n\tmystery %eax\n\taddq $2, tt_work+0; ret\n"},
	{"a jump table", "f:\n\tjmp *.L4(,%rax,8)\n\t.section .rodata\n\t.align 8\n.L4:\n\t.quad .L5\n\t.long .L6-.L4\n\t.text\n.L5:\n\tnop\n.L6:\n\tnop\n.L7:\n\tret\n",
		"f:\n\taddq $1, tt_work+0; jmp *.L4(,%rax,8)\n\t.section .rodata\n\t.align 8\n.L4:\n\t.quad .L5\n\t.long .L6-.L4\n\t.text\n.L5:\n\taddq $1, tt_work+0; nop\n.L6:\n\taddq $2, tt_work+0; nop\n.L7:\n\tret\n"},
	{"an address in code", "\tleaq .L5(%rip), %rax\n.L5:\n\tret\n.L6:\n\tnop\n", "\taddq $1, tt_work+0; leaq .L5(%rip), %rax\n.L5:\n\taddq $1, tt_work+0; ret\n.L6:\n\t" + saved("$1, tt_work+0") + "; nop\n"},
	{"numeric labels", "1:\tnop\n\tjne 1f\n1:\tnop\n\tjmp 1b; 1: ret\n",
		"1:\t" + saved("$2, tt_work+0") + "; nop\n\tjne 1f\n1:\taddq $2, tt_work+0; nop\n\tjmp 1b; 1: addq $1, tt_work+0; ret\n"},
	{"the size of a function", "f:\n\tnop\n.Lend:\n\tret\n\t.size f, .Lend-f\n", "f:\n\taddq $2, tt_work+0; nop\n.Lend:\n\tret\n\t.size f, .Lend-f\n"},
	{"the exception table", "#APP\n\tjmp 9f\n9:\n1:\tmov (%r8), %rax\n2:\n .pushsection \"__ex_table\",\"a\"\n .balign 4\n .long (1b) - .\n .long (2b) - .\n .long 20\n .popsection\n#NO_APP\n\tret\n",
		"#APP\n\taddq $1, tt_work+0; jmp 9f\n9:\naddq $2, tt_work+0; 1:\tmov (%r8), %rax\n2:\n .pushsection \"__ex_table\",\"a\"\n .balign 4\n .long (1b) - .\n .long (2b) - .\n .long 20\n .popsection\n#NO_APP\n\tret\n"},
	{"a jump to an instruction in the exception table", "1:\tmov (%r8), %rax\n\ttestl %eax, %eax\n\tje 1b\n\tret\n .section __ex_table,\"a\"\n .long 1b - ., 2f - .\n",
		"1:\tmov (%r8), %rax\n\taddq $3, tt_work+0; testl %eax, %eax\n\tje 1b\n\taddq $1, tt_work+0; ret\n .section __ex_table,\"a\"\n .long 1b - ., 2f - .\n"},
	{"an alternative", "\tcmpl %eax, %edx\n\tje .L3\n.L3:\n661:\n\tnop\n\tnop\n662:\n.skip -(((6651f-6641f)-(662b-661b)) > 0) * ((6651f-6641f)-(662b-661b)),0x90\n663:\n.pushsection .altinstructions,\"a\"\n .long 661b - .\n .long 6641f - .\n .byte 663b-661b\n.popsection\n.pushsection .altinstr_replacement, \"ax\"\n6641:\n\tcall g\n6651:\n.popsection\n\tret\n",
		"\taddq $2, tt_work+0; cmpl %eax, %edx\n\tje .L3\n.L3:\naddq $3, tt_work+0; 661:\n\tnop\n\tnop\n662:\n.skip -(((6651f-6641f)-(662b-661b)) > 0) * ((6651f-6641f)-(662b-661b)),0x90\n663:\n.pushsection .altinstructions,\"a\"\n .long 661b - .\n .long 6641f - .\n .byte 663b-661b\n.popsection\n.pushsection .altinstr_replacement, \"ax\"\n6641:\n\tcall g\n6651:\n.popsection\n\tret\n"},
	{"a bug", "\tjmp .L1\n.L1:\n1:\tmovl %eax, %edx\n\tret\n.pushsection __bug_table,\"aw\"\n.long 1b - .\n.popsection\n",
		"\taddq $1, tt_work+0; jmp .L1\n.L1:\naddq $2, tt_work+0; 1:\tmovl %eax, %edx\n\tret\n.pushsection __bug_table,\"aw\"\n.long 1b - .\n.popsection\n"},
	{"sections", "\t.data\nx:\n\t.long 1\n\tnop\n\t.section .init.text,\"ax\",@progbits\n\tnop\n\t.previous\n\tnop\n\t.section \"my.code\", \"ax\"\n\tret\n\t.section .__syscall_stub,\"ax\"\n\tret\n\t.section my.code\n\tret\n\t.subsection 1\n\tret\n\t.bss\n",
		"\t.data\nx:\n\t.long 1\n\tnop\n\t.section .init.text,\"ax\",@progbits\n\t" + saved("$1, tt_work+0") + "; nop\n\t.previous\n\tnop\n\t.section \"my.code\", \"ax\"\n\taddq $1, tt_work+0; ret\n\t.section .__syscall_stub,\"ax\"\n\tret\n\t.section my.code\n\taddq $1, tt_work+0; ret\n\t.subsection 1\n\taddq $1, tt_work+0; ret\n\t.bss\n"},
	{"code goes on behind another section", "\tnop\n\t.section .text.unlikely\n\tret\n\t.text\n\tret\n", "\taddq $2, tt_work+0; nop\n\t.section .text.unlikely\n\taddq $1, tt_work+0; ret\n\t.text\n\tret\n"},
	{"prefixes", "\tlock; incl (%rax)\n\tlock incl (%rax)\n\trep; nop\n\tnotrack jmp *%rax\n\trepz ret\n\tlock\n\tincl (%rax)\n\tret\n",
		"\taddq $4, tt_work+0; lock; incl (%rax)\n\tlock incl (%rax)\n\trep; nop\n\tnotrack jmp *%rax\n\taddq $1, tt_work+0; repz ret\n\taddq $2, tt_work+0; lock\n\tincl (%rax)\n\tret\n"},
	{"copies", "\tnop\n\trep; movsb\n\trep stosw\n\trep movsl\n\trep stosq\n\trepe cmpsb\n\tmovsb\n\tret\n",
		"\taddq $8, tt_work+0; nop\n\taddq %rcx, tt_work+24; rep; movsb\n\taddq %rcx, tt_work+32; rep stosw\n\taddq %rcx, tt_work+40; rep movsl\n\taddq %rcx, tt_work+48; rep stosq\n\trepe cmpsb\n\tmovsb\n\tret\n"},
	{"a copy among flags", "\tcmpl %eax, %edx\n\trep movsb\n\tsete %al\n\tret\n",
		"\taddq $4, tt_work+0; cmpl %eax, %edx\n\t" + saved("%rcx, tt_work+24") + "; rep movsb\n\tsete %al\n\tret\n"},
	{"statements and comments", "\tnop; nop /* ; nop\n nop */; nop # nop ; nop\n\t.ascii \"; nop # /*\"; .byte ';'\n\tret\n",
		"\t" + saved("$3, tt_work+0") + "; nop; nop /* ; nop\n nop */; nop # nop ; nop\n\t.ascii \"; nop # /*\"; .byte ';'\n\taddq $2, tt_work+0; ret\n"},
	{"macros", " .macro twice what\n 1:\t\\what\n\tjne 2f\n .endm\n2:\tret\n3:\ttwice \"jmp .L4\"\n\tret\n.L4:\tret\n",
		" .macro twice what\n 1:\t\\what\n\tjne 2f\n .endm\n2:\taddq $1, tt_work+0; ret\n3:\ttwice \"jmp .L4\"\n\taddq $1, tt_work+0; ret\n.L4:\taddq $1, tt_work+0; ret\n"},
	{"repetitions", "\tret\n\t.rept 3\n\tnop\n\t.endr\n\tret\n", "\taddq $1, tt_work+0; ret\n\t.rept 3\n\tnop\n\t.endr\n\taddq $1, tt_work+0; ret\n"},
	{"conditions", "\txorl %eax, %eax\n\t.ifdef X\n\tret\n\t.else\n\tret\n\t.endif\n", "\taddq $1, tt_work+0; xorl %eax, %eax\n\t.ifdef X\n\taddq $1, tt_work+0; ret\n\t.else\n\taddq $1, tt_work+0; ret\n\t.endif\n"},
	{"32-bit code", "\t.code32\n\tpushl %eax\n\t.code64\n\tret\n", "\t.code32\n\tpushl %eax\n\t.code64\n\taddq $1, tt_work+0; ret\n"},
}

func TestRewrite(t *testing.T) {
	for _, test := range rewrites {
		t.Run(test.name, func(t *testing.T) {
			compare(t, func(w io.Writer, r io.Reader) error { return Rewrite(w, r, Other) }, test.in+ident, test.want+ident)
		})
	}
}

// Handwritten code may hand flags from one function to another.
func TestRewriteHandwritten(t *testing.T) {
	const in = "f:\n\tcmpl %eax, %edx\n\tcall g\n\tmovl %eax, %edx\n\tret\n"
	compare(t, func(w io.Writer, r io.Reader) error { return Rewrite(w, r, Checksums) }, in,
		"f:\n\taddq $4, tt_work+16; cmpl %eax, %edx\n\tcall g\n\tmovl %eax, %edx\n\tret\n")
	const open = "\tmovl %eax, %edx\n\tret\n"
	compare(t, func(w io.Writer, r io.Reader) error { return Rewrite(w, r, Compressing) }, open,
		"\t"+saved("$2, tt_work+8")+"; movl %eax, %edx\n\tret\n")
}

func compare(t *testing.T, rewrite func(io.Writer, io.Reader) error, in, want string) {
	t.Helper()
	var out bytes.Buffer
	if err := rewrite(&out, strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("%s\nbecomes\n%s\ninstead of\n%s", in, out.String(), want)
	}
}

func TestRewriteErrors(t *testing.T) {
	for in, want := range map[string]string{
		"nop\njmp .+2\n":         "line 2: jmp .+2 counts bytes, which change",
		"\n\n(%rax)\n":           `line 3: no instruction: "(%rax)"`,
		"\n.popsection\n":        "line 2: .popsection without .pushsection",
		"nop /* \n":              "line 1: a comment does not end",
		".ascii \"x\n":           "line 1: a string does not end",
		".macro m\nnop\n":        ".endm is missing at the end",
		"\nrep movs\n":           `line 2: the width of "movs" is unknown`,
		"lock; 1: incl x\n":      "line 1: label 1 parts an instruction from its prefix",
		"nop\nlock\n":            `a prefix has no instruction: "lock"`,
		".intel_syntax noprefix": "line 1: the syntax is not that of AT&T",
		"\n\n1: jmp 1b\n.section __ex_table,\"a\"\n.long 1b-.\n": "line 3: there is no place to count these instructions at",
	} {
		if err := Rewrite(io.Discard, strings.NewReader(in), Other); err == nil || err.Error() != want {
			t.Errorf("%q: %v instead of %s", in, err, want)
		}
	}
	if err := Rewrite(io.Discard, strings.NewReader(""), Kinds); err == nil {
		t.Error("a kind that does not exist is taken")
	}
}

func TestCopiers(t *testing.T) {
	compare(t, Copiers, ".globl __memcpy ; .p2align 4, 0x90 ; __memcpy:\n ALTERNATIVE \"jmp memcpy_orig\", \"\"\n rep movsq\n ret\n.weak memcpy ; .set memcpy, __memcpy ;\nmemcpy_orig:\n ret\n__memset:\nmemset:\n rep stosb\n ret\n",
		".globl __memcpy ; .p2align 4, 0x90 ; __memcpy: addq %rdx, tt_work+24; .globl tt_uncounted_memcpy; tt_uncounted_memcpy: \n ALTERNATIVE \"jmp memcpy_orig\", \"\"\n rep movsq\n ret\n.weak memcpy ; .set memcpy, __memcpy ;\nmemcpy_orig:\n ret\n__memset:\nmemset: addq %rdx, tt_work+24; .globl tt_uncounted_memset; tt_uncounted_memset: \n rep stosb\n ret\n")
	if err := Copiers(io.Discard, strings.NewReader("f:\n\tret\n")); err == nil {
		t.Error("a file that copies nothing is taken")
	}
}

func TestUncounted(t *testing.T) {
	compare(t, Uncounted, "\tcall memcpy\n\tcall memcpy@PLT\n\tjmp __memset # memset\n\tmovabsq\t$memmove, %rax\n\tleaq memcpy(%rip), %rax\n\tcall memcpy_fromio\n\tcall kmemcpy\n\t.quad memcpy\n\t.asciz \"memcpy\"\n\tret\n",
		"\tcall tt_uncounted_memcpy\n\tcall tt_uncounted_memcpy@PLT\n\tjmp tt_uncounted_memset # memset\n\tmovabsq\t$tt_uncounted_memmove, %rax\n\tleaq tt_uncounted_memcpy(%rip), %rax\n\tcall memcpy_fromio\n\tcall kmemcpy\n\t.quad memcpy\n\t.asciz \"memcpy\"\n\tret\n")
	const own = "\tcall memcpy\nmemcpy:\n\tret\n"
	compare(t, Uncounted, own, own)
}

// inserted is all that Rewrite inserts.
var inserted = regexp.MustCompile(`; (leaq -128\(%rsp\), %rsp; pushfq; )?addq (\$[0-9]+|%rcx), tt_work\+[0-9]+(; popfq; leaq 128\(%rsp\), %rsp)?|((leaq -128\(%rsp\), %rsp; pushfq; )?addq (\$[0-9]+|%rcx), tt_work\+[0-9]+; (popfq; leaq 128\(%rsp\), %rsp; )?)+`)

func FuzzRewrite(f *testing.F) {
	for _, test := range rewrites {
		f.Add(test.in + ident)
		f.Add(test.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, rewrite := range []func(io.Writer, io.Reader) error{Copiers, Uncounted} {
			_ = rewrite(io.Discard, strings.NewReader(in))
		}
		var out bytes.Buffer
		if Rewrite(&out, strings.NewReader(in), Other) != nil {
			return
		}
		// What is inserted is found by what it says.
		rest := in
		for _, part := range strings.SplitAfter(out.String(), "\n") {
			line, _, _ := strings.Cut(rest, "\n")
			rest = strings.TrimPrefix(rest[len(line):], "\n")
			if got := strings.TrimSuffix(remove(part), "\n"); got != line {
				t.Fatalf("%q becomes %q, which is not the same without what is inserted", line, part)
			}
		}
		// A file of data alone stays as it is.
		if data := ".data\n" + in; !strings.Contains(in, "section") && !strings.Contains(in, ".text") && !strings.Contains(in, ".previous") {
			out.Reset()
			if err := Rewrite(&out, strings.NewReader(data), Other); err == nil && out.String() != data {
				t.Fatalf("%q becomes %q", data, out.String())
			}
		}
	})
}

func remove(s string) string { return inserted.ReplaceAllString(s, "") }
