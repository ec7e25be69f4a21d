package script

// Keys of promises, as breaches name them.
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
	// PromiseNotJudged is none: our own side failed, so that nobody knows.
	PromiseNotJudged = "not-judged"
)

// PromiseTexts says of each promise's key what is promised.
var PromiseTexts = map[string]string{
	PromiseKept:          "what was on storage and was not touched since is there and unchanged",
	PromiseFsync:         "after fsync has returned, the file's contents and size are kept",
	PromiseFdatasync:     "after fdatasync has returned, the file's contents and size are kept",
	PromiseMsync:         "after msync has returned, what was written to the mapping is kept",
	PromiseOSync:         "what was written with O_SYNC is kept once the write has returned",
	PromiseSync:          "after syncfs has returned, all contents and names are kept",
	PromiseFsyncDir:      "after fsync of a directory has returned, its names are kept",
	PromiseNewName:       "fsync of a new, renamed or linked file keeps its name as well",
	PromiseAtomicReplace: "rename over a file leaves the old one or the new one, whole, where the new one was synced before",
	PromiseReplaceSyncs:  "rename over a file leaves the old one or the new one, whole, although the new one was never synced",
	PromiseRename:        "a file that is renamed is there under its old or its new name, and not under both",
	PromiseRemoved:       "a name whose removal was synced does not come back",
	PromiseNoStale:       "a file never shows what the storage held before, or another file's data",
	PromiseInvented:      "no name, file or directory appears that was never made",
	PromiseSize:          "a file's size is one that it had, or between two that it had",
	PromiseLinks:         "a file has as many names as it says",
	PromiseReadable:      "what is listed can be looked at and read",
	PromiseOrdered:       "metadata operations are kept in their order",
	PromiseClaimed:       "what the program's author takes for granted, and nobody promises",
	PromiseCommitted:     "a transaction that was acknowledged is there, with the right contents",
	PromiseTransaction:   "a transaction is there whole or not at all",
	PromiseIntegrity:     "the database can be opened and passes its own check",
	PromiseNotJudged:     "the state could be judged (our own side failed; nothing is known of it)",
}
