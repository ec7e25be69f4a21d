package machinetest

import "whichfs/internal/plan/scenario"

// OnJffs2 and OnUBI are trials with a loss of power in the middle.
var (
	OnJffs2 = scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "first-module"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
		{Work: "power-loss"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mount", Phase: "mount-unclean"},
		{Work: "tree-compare", Phase: "compare", Data: "tree", Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	}
	OnUBI = scenario.Scenario{
		{Work: "discard"},
		{Work: "layer-load", Phase: "layer-module"},
		{Work: "layer-format", Phase: "format"},
		{Work: "attach", Phase: "first-attach"},
		{Work: "volume", Phase: "volume"},
		{Work: "module-load", Phase: "first-module"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "first-mount"},
		{Work: "tree-copy", Phase: "fill", Data: "tree", Dir: "root"},
		{Work: "power-loss"},
		{Work: "layer-load", Phase: "layer-cold"},
		{Work: "attach", Phase: "attach-unclean"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mount", Phase: "mount-unclean"},
		{Work: "tree-compare", Phase: "compare", Data: "tree", Dir: "root"},
		{Work: "unmount", Phase: "unmount"},
	}
)
