package machine

import (
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
)

// CheckOwnKernel refuses what no machine can do whose kernel whichfs did not start: this host, a
// board. whose says in messages where its storage is. It returns the parsed storage. Errors are
// *result.Failure.
func CheckOwnKernel(m Machine, spec Spec, whose string) (media.Storage, error) {
	parsed, err := media.Parse(spec.Storage)
	if err != nil {
		return parsed, result.Refuse("give --storage /dev/NAME or --storage loop:SIZE", "%v", err)
	}
	switch {
	case spec.Instructions:
		return parsed, NoInstructions(m)
	case spec.Virtual:
		return parsed, NoVirtual(m)
	case spec.Processor != nil:
		return parsed, NoProcessor(m)
	case spec.CPUs != 0:
		return parsed, FixedCPUs(m, spec.CPUs)
	case spec.Memory != 0:
		return parsed, FixedMemory(m, spec.Memory)
	}
	return parsed, checkOwnStorage(spec, parsed, whose)
}

// checkOwnStorage refuses storage that only the lab has, and a kernel's damage without consent.
func checkOwnStorage(spec Spec, parsed media.Storage, whose string) error {
	switch {
	case spec.Damages && !spec.RiskKernel:
		return workload.AtRisk()
	case parsed.Lab():
		hint := "use --machine lab"
		switch {
		case parsed.Raw():
			hint += ", or --storage mtd:/dev/mtdN for raw flash " + whose
		case parsed.Size > 0:
			hint += ", or --storage loop:" + media.FormatSize(parsed.Size)
		}
		return result.Refuse(hint, "storage %s exists only in the lab", parsed)
	case parsed.Kind == media.KindSerial || parsed.Kind == media.KindMMC:
		return result.Refuse("name the device itself (see whichfs list storage)",
			"storage %s is what a lab guest calls its own disk", parsed)
	}
	return nil
}
