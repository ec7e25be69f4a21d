package agent

import (
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
)

// cut brings the storage into the form that a variant requests: only a simulated raw chip has more
// than one.
func (a *Agent) cut(c filesystem.Candidate, v scenario.Variant) error {
	if a.chip == nil {
		if v.Size == 0 && v.Chip == "" {
			return nil
		}
		return result.Fail(result.Unsupported, "use --machine lab --storage nand:128M",
			"only a simulated raw chip can be partitioned and given faults, and this storage is %s", a.claim.Identity())
	}
	if v.Part != nil {
		return result.Refuse("", "parts of the storage are parts of a block device, and this is raw flash")
	}
	if err := a.chip.as(v.Size, v.Chip); err != nil {
		return err
	}
	if reason, hint := c.Unfit(filesystem.Chip{Size: a.chip.bytes(), EraseBlock: a.chip.chip.Block, Page: int64(a.chip.chip.Page)}); reason != "" {
		return result.Refuse(hint, "%s", reason)
	}
	return nil
}

// part makes the part of the storage for a variant's filesystem; nil if that is all of it.
func (a *Agent) part(c filesystem.Candidate, p *scenario.Part) (*storage.Part, error) {
	if p == nil {
		return nil, nil
	}
	start, length := p.Bounds(a.claim.Size())
	if reason, hint := c.Misfit(length); reason != "" {
		return nil, result.Refuse(hint, "on the requested part of the storage: %s", reason)
	}
	return a.claim.Part(start, length)
}
