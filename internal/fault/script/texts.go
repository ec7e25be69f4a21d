package script

// Keys of promises in breaches.
const (
	PromiseNone          = ""
	PromiseKept          = "kept"
	PromiseFsync         = "fsync"
	PromiseFdatasync     = "fdatasync"
	PromiseMsync         = "msync"
	PromiseOSync         = "o-sync"
	PromiseSync          = "sync"
	PromiseFsyncDir      = "fsync-dir"
	PromiseNewName       = "new-name"
	PromiseAtomicReplace = "atomic-replace"
	PromiseReplaceSyncs  = "replace-syncs"
	PromiseRename        = "rename"
	PromiseRemoved       = "removed"
	PromiseNoStale       = "no-stale"
	PromiseInvented      = "nothing-invented"
	PromiseSize          = "size"
	PromiseLinks         = "links"
	PromiseReadable      = "readable"
	PromiseOrdered       = "ordered"
	PromiseClaimed       = "claimed"
	PromiseCommitted     = "sqlite-committed"
	PromiseTransaction   = "sqlite-transaction"
	PromiseIntegrity     = "sqlite-integrity"
	// PromiseNotJudged is no promise: our own machinery failed, and the state is
	// unknown.
	PromiseNotJudged = "not-judged"
)

// PromiseTexts explains each promise by its key.
var PromiseTexts = map[string]string{
	PromiseKept:          "data on storage that was not touched since is there, unchanged",
	PromiseFsync:         "after fsync has returned, the file's contents and size are kept",
	PromiseFdatasync:     "after fdatasync has returned, the file's contents and size are kept",
	PromiseMsync:         "after msync has returned, the data written to the mapping is kept",
	PromiseOSync:         "data written with O_SYNC is kept once the write has returned",
	PromiseSync:          "after syncfs has returned, all contents and names are kept",
	PromiseFsyncDir:      "after fsync of a directory has returned, its names are kept",
	PromiseNewName:       "fsync of a new, renamed or linked file keeps its name as well",
	PromiseAtomicReplace: "rename over a file leaves either the old or the new file, complete, if the new one was synced before",
	PromiseReplaceSyncs:  "rename over a file leaves either the old or the new file, complete, even if the new one was never synced",
	PromiseRename:        "a renamed file is there under either its old or its new name, and not under both",
	PromiseRemoved:       "a name whose removal was synced does not come back",
	PromiseNoStale:       "a file never shows previous contents of the storage, or another file's data",
	PromiseInvented:      "no name, file or directory appears that was never created",
	PromiseSize:          "a file's size is one that it had before, or between two such sizes",
	PromiseLinks:         "a file's link count matches its names",
	PromiseReadable:      "every listed entry can be opened and read",
	PromiseOrdered:       "metadata operations are kept in their order",
	PromiseClaimed:       "an assumption of the program's author that no filesystem promises",
	PromiseCommitted:     "an acknowledged transaction is there, with the correct contents",
	PromiseTransaction:   "a transaction is there completely or not at all",
	PromiseIntegrity:     "the database can be opened and passes its own check",
	PromiseNotJudged:     "the state could be judged (our own code failed; the state is unknown)",
}
