package hardware

import "testing"

func TestProcessor(t *testing.T) {
	for cpuinfo, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\n":                                      "Intel(R) Xeon(R) Processor",
		"processor\t: 0\nmodel name\t: ARMv7 Processor rev 2 (v7l)\nHardware\t: Generic AM33XX\n":         "ARMv7 Processor rev 2 (v7l)",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nprocessor\t: 1\nCPU part\t: 0xd08": "implementer 0x41 part 0xd03",
		"processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc\n":                                                  "rv64imafdc",
		"": "",
	} {
		if got := processor(cpuinfo); got != want {
			t.Errorf("%q: %q", cpuinfo, got)
		}
	}
}
