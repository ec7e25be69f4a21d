// Package docs is the manual: the program carries these documents with it, for whichfs help.
package docs

import "embed"

// Files are the documents.
//
//go:embed *.md findings/*.md
var Files embed.FS
