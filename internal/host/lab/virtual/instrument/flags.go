package instrument

import "strings"

// flags is a set of the six status flags, all of which add overwrites.
type flags uint8

const (
	cf flags = 1 << iota
	pf
	af
	zf
	sf
	of
	every = 1<<iota - 1
)

// effect is what an instruction does to the flags: those it reads, and those that
// it surely overwrites. Flags that the processor's manual calls undefined count as
// overwritten.
type effect struct{ reads, writes flags }

// unknown is the effect of instructions that are not in the tables.
var unknown = effect{reads: every}

var conditions = map[string]flags{
	"o": of, "no": of, "b": cf, "c": cf, "nae": cf, "ae": cf, "nb": cf, "nc": cf,
	"e": zf, "z": zf, "ne": zf, "nz": zf, "be": cf | zf, "na": cf | zf, "a": cf | zf, "nbe": cf | zf,
	"s": sf, "ns": sf, "p": pf, "pe": pf, "np": pf, "po": pf,
	"l": sf | of, "nge": sf | of, "ge": sf | of, "nl": sf | of,
	"le": zf | sf | of, "ng": zf | sf | of, "g": zf | sf | of, "nle": zf | sf | of,
}

// effects by mnemonics without suffix, from the Intel manual, volume 2. Shifts and
// rotations are those by a constant other than 0.
var effects = join(map[string]effect{
	"inc": {0, every &^ cf}, "dec": {0, every &^ cf},
	"bt": {0, every &^ zf}, "bts": {0, every &^ zf}, "btr": {0, every &^ zf}, "btc": {0, every &^ zf},
	"adc": {cf, every}, "sbb": {cf, every}, "adcx": {cf, cf}, "adox": {of, of},
	"rcl": {cf, cf}, "rcr": {cf, cf}, "rol": {0, cf}, "ror": {0, cf},
	"clc": {0, cf}, "stc": {0, cf}, "cmc": {cf, cf},
	"lahf": {every &^ of, 0}, "sahf": {0, every &^ of}, "pushf": {every, 0}, "popf": {0, every},
	"cmpxchg8b": {0, zf}, "cmpxchg16b": {0, zf},
	"loope": {zf, 0}, "loopz": {zf, 0}, "loopne": {zf, 0}, "loopnz": {zf, 0},
	"fcmovb": {cf, 0}, "fcmove": {zf, 0}, "fcmovbe": {cf | zf, 0}, "fcmovu": {pf, 0},
	"fcmovnb": {cf, 0}, "fcmovne": {zf, 0}, "fcmovnbe": {cf | zf, 0}, "fcmovnu": {pf, 0},
}, map[effect]string{
	{0, every}: `add sub cmp test and or xor neg mul imul div idiv xadd cmpxchg
		shl sal shr sar shld shrd bsf bsr popcnt lzcnt tzcnt andn bextr blsi blsr blsmsk bzhi
		scas cmps rdrand rdseed
		comiss comisd ucomiss ucomisd vcomiss vcomisd vucomiss vucomisd ptest vptest vtestps vtestpd
		pcmpestri pcmpestrm pcmpistri pcmpistrm vpcmpestri vpcmpestrm vpcmpistri vpcmpistrm`,
	{0, zf | pf | cf}: `fcomi fcomip fucomi fucomip`,
	{}: `mov movabs movs movsb movsw movsl movz movzb movzw movsx movzx movslq movsbw
		lea push pop nop not xchg bswap leave enter pause cwtl cltq cqto cltd cwtd cbtw cdq cdqe cqo cwde cwd cbw
		stos lods cld std rdtsc rdtscp cpuid lfence mfence sfence clflush clflushopt clwb endbr64 movnti movbe
		prefetcht0 prefetcht1 prefetcht2 prefetchnta prefetchw prefetch wait emms ldmxcsr stmxcsr
		shlx shrx sarx rorx pdep pext mulx crc32 xgetbv rdfsbase rdgsbase wrfsbase wrgsbase loop jcxz jecxz jrcxz
		fxsave fxrstor xsave xrstor xlat vzeroupper vzeroall jmp`,
})

// join adds mnemonics that have an effect in common.
func join(table map[string]effect, names map[effect]string) map[string]effect {
	for e, same := range names {
		for name := range strings.FieldsSeq(same) {
			table[name] = e
		}
	}
	return table
}

// shifts leave the flags if they shift by 0.
var shifts = map[string]bool{"shl": true, "sal": true, "shr": true, "sar": true, "shld": true, "shrd": true, "rol": true, "ror": true, "rcl": true, "rcr": true}

// effectOf finds the effect of an instruction with these operands. repeated is
// whether it has a rep prefix.
func effectOf(name, operands string, repeated bool) effect {
	e, base, ok := lookup(effects, name)
	switch {
	case ok && shifts[base] && !certain(operands):
		return effect{reads: e.reads}
	case ok && (base == "cmps" || base == "scas") && repeated: // of nothing
		return effect{}
	case ok:
		return e
	case strings.HasPrefix(name, "cmov"):
		return conditional(name[len("cmov"):])
	case strings.HasPrefix(name, "set"):
		return conditional(name[len("set"):])
	case name[0] == 'j':
		return conditional(name[1:])
	case name[0] == 'f' || strings.Contains(operands, "mm") && vector(operands):
		return effect{}
	}
	return unknown
}

func conditional(condition string) effect {
	if reads, _, ok := lookup(conditions, condition); ok {
		return effect{reads: reads}
	}
	return unknown
}

// vector is whether an operand is a register of MMX, SSE or AVX.
func vector(operands string) bool {
	for _, r := range []string{"%mm", "%xmm", "%ymm", "%zmm"} {
		if strings.Contains(operands, r) {
			return true
		}
	}
	return false
}

// certain is whether a shift with these operands surely changes the flags: by 1,
// which is implied, or by a constant whose last five bits, which narrow operands
// are shifted by, are not 0.
func certain(operands string) bool {
	first, _, more := strings.Cut(operands, ",")
	if !more {
		return !strings.HasPrefix(first, "$") && first != "%cl"
	}
	n, ok := strings.CutPrefix(strings.TrimSpace(first), "$")
	return ok && number(n)&31 != 0
}

// lookup finds a mnemonic with or without its suffix, and which it is.
func lookup[T any](table map[string]T, name string) (T, string, bool) {
	if v, ok := table[name]; ok {
		return v, name, true
	}
	if n := len(name) - 1; n > 0 && strings.IndexByte("bwlq", name[n]) >= 0 {
		v, ok := table[name[:n]]
		return v, name[:n], ok
	}
	var none T
	return none, "", false
}
