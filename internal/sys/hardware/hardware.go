// Package hardware names what this program runs on.
package hardware

import (
	"cmp"
	"os"
	"strings"
)

// Machine is the model of the board or of the computer; "" if the kernel does not know it.
func Machine() string {
	return cmp.Or(read("/proc/device-tree/model"), read("/sys/class/dmi/id/product_name"))
}

// Processor is the model of the processor; "" if the kernel does not know it.
func Processor() string { return processor(read("/proc/cpuinfo")) }

// read returns a text without the zero byte that ends those of a device tree.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.Trim(string(b), "\x00 \t\n")
}

// processor picks the model from /proc/cpuinfo: x86 and RISC-V have one, ARM kernels often only
// implementer and part.
func processor(cpuinfo string) string {
	fields := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && fields[name] == "" {
			fields[name] = strings.TrimSpace(value)
		}
	}
	for _, name := range []string{"model name", "Model", "Hardware", "uarch", "isa"} {
		if fields[name] != "" {
			return fields[name]
		}
	}
	if part := fields["CPU part"]; part != "" {
		return "implementer " + fields["CPU implementer"] + " part " + part
	}
	return ""
}
