package usermode

import "strings"

// programs is the environment of the guest's first program, and so of all others. A program asks the
// processor itself what it can do, and no kernel can hide that from it. If it then chooses other
// functions than elsewhere, it touches other pages of its libraries, a little more or less memory is
// free, the kernel writes what is dirty a little sooner or later, and the figures would be those of one
// kind of processor. So all programs do without what only some processors have.
func programs() []string {
	return []string{
		"GLIBC_TUNABLES=" + strings.Join([]string{
			"glibc.cpu.hwcaps=-" + strings.Join(unused, ",-"),
			// Sizes of caches, which decide how large blocks are copied: in bytes.
			"glibc.cpu.x86_data_cache_size=32768",
			"glibc.cpu.x86_shared_cache_size=1048576",
			"glibc.cpu.x86_non_temporal_threshold=786432",
		}, ":"),
		// A function that is looked up at its first call has all registers saved on the stack first,
		// as many as the processor has.
		"LD_BIND_NOW=1",
		"GODEBUG=cpu.all=off", // of the agent
	}
}

// unused are what the C library (2.36) can be told not to use: features, and what it prefers because of
// the processor's family (glibc's manual, "Hardware Capability Tunables").
var unused = []string{
	"AVX", "AVX2", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512ER", "AVX512F", "AVX512PF", "AVX512VL", "BMI1", "BMI2", "ERMS", "FMA", "FMA4",
	"FSRM", "LZCNT", "MOVBE", "POPCNT", "RTM", "SSE4_1", "SSE4_2", "SSSE3", "XSAVE", "XSAVEC",
	"AVX_Fast_Unaligned_Load", "Fast_Copy_Backward", "Fast_Rep_String", "Fast_Unaligned_Copy", "Fast_Unaligned_Load",
	"Prefer_ERMS", "Prefer_FSRM", "Prefer_No_AVX512_Probing", "Prefer_No_VZEROUPPER", "Prefer_PMINUB_for_stringop", "Slow_BSF", "Slow_SSE4_2",
}
