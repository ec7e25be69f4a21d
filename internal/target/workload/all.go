package workload

// All are the kinds of work that scenarios can name.
var All = []Kind{
	Discard, ModuleLoad, Mkfs, Image, Flash,
	Mount, Unmount, Remount, Space, Check,
	TreeCopy, TreeRead, TreeClone, TreeRotate, TreeRemove,
	StreamWrite, StreamRead, Wear, Precondition,
	TreePreserve, TreePipe, TreeFetch, TarNull, TarPipe, CpFetch, Trim, Compression,
	Threads, Fill, FillSize, TreeCompare, BootRoot,
	LayerLoad, LayerFormat, Attach, Volume, LayerBlock, LayerDown,
	Fio,
	MetaCreate, MetaStat, MetaRead, MetaDelete,
	FileWrite, FileRewrite, FileRead, Seeks,
	SyncFiles, SyncVerify,
	Settle, Rest, HoldMemory, FreeMemory,
	Dates, Smallest, Room, Ability,
	PowerLoss,
	PowerCut, FlakyWrites, FlakyReads, BitRot, BadSectors, CrashStates,
}

// ByName returns a kind of work.
func ByName(name string) (Kind, bool) {
	for _, k := range All {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
