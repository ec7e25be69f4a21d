package filesystem

import "strings"

// Ability is something that tools can do to a filesystem that holds files, besides checking and
// repairing it.
type Ability string

// The abilities. Online ones leave it mounted.
const (
	GrowOnline    Ability = "grow-online"
	GrowOffline   Ability = "grow-offline"
	ShrinkOnline  Ability = "shrink-online"
	ShrinkOffline Ability = "shrink-offline"
	Defragment    Ability = "defragment"
	Snapshot      Ability = "snapshot"
	Scrub         Ability = "scrub"
	Convert       Ability = "convert"
	Relabel       Ability = "label"
	NewUUID       Ability = "uuid"
	OfflineImage  Ability = "offline-image"
)

// KnownAbility describes an ability.
type KnownAbility struct {
	Name  Ability
	About string // a clause whose subject is the filesystem
	Shown string // what shows it
}

// Abilities are all of them, in the order of tables.
var Abilities = []KnownAbility{
	{GrowOnline, "grows while it is mounted", "its size by statfs is larger, and its files are whole"},
	{GrowOffline, "grows while it is not mounted", "its size by statfs is larger, and its files are whole"},
	{ShrinkOnline, "shrinks while it is mounted", "its size by statfs is smaller, and its files are whole on a device of the new size"},
	{ShrinkOffline, "shrinks while it is not mounted", "its size by statfs is smaller, and its files are whole on a device of the new size"},
	{Defragment, "joins the pieces of a file", "the file has fewer extents, and the same content"},
	{Snapshot, "keeps its state while it changes", "the snapshot has the old content after a change, and the filesystem the new one"},
	{Scrub, "verifies all data while it is mounted", "it passes, and reports one flipped bit of a file"},
	{Convert, "is made of another filesystem with its files", "blkid takes it for the new one, and the files are whole"},
	{Relabel, "gets another label", "blkid reads the new one, and its files are whole"},
	{NewUUID, "gets another UUID or serial number", "blkid reads another one, and its files are whole"},
	{OfflineImage, "is made of a directory with its files, without mounting it", "the mounted image has the same files"},
}

// Means are how a filesystem has an ability.
type Means struct {
	// Steps are the argument vectors.
	Steps func(o Object) [][]string
	// Mounted: they need it mounted, although the ability itself does not say so.
	Mounted bool
	// Answer is what the tools are told when they ask.
	Answer string
	// From is the candidate that Convert makes it of.
	From string
	// View returns where the last snapshot is, given the output of the last step: a directory in
	// the mounted filesystem, or the options with which it is mounted beside it.
	View func(output string) (dir string, options []string)
}

// Object is what an ability is exercised on.
type Object struct {
	Device string // "/dev/loop3"
	Mount  string // where it is mounted; empty: it is not
	Size   int64  // B, that it is to have; of File
	File   string // to defragment
	Label  string // to set
	Image  string // file to make of Tree, with Size bytes of zeros
	Tree   string
	// Options are those of mkfs for Image, verbatim.
	Options []string
}

// Online reports whether the steps need it mounted.
func (m Means) Online(a Ability) bool {
	return m.Mounted || a == GrowOnline || a == ShrinkOnline || a == Snapshot || a == Scrub
}

// Can returns how the filesystem has an ability; lack is why it has none, a clause whose subject is
// the filesystem.
func (fs Filesystem) Can(a Ability) (m Means, lack string) {
	m, ok := fs.Abilities[a]
	switch {
	case ok:
		return m, ""
	case a == OfflineImage && fs.Image != nil:
		return Means{Steps: func(o Object) [][]string {
			return [][]string{fs.Image(Candidate{FS: fs.Name}, o.Image, o.Tree)}
		}}, ""
	case a == OfflineImage && fs.FlashImage != nil:
		return Means{}, "" // every run of it from an image shows that
	case fs.Raw:
		return m, "was not tried: its storage is raw flash"
	case fs.ReadOnly:
		return m, "is an image that never changes"
	case fs.Unable[a] != "":
		return m, fs.Unable[a]
	}
	return m, "has no such tool"
}

// Tried names the kernel and the tools with which its abilities were tried.
func (fs Filesystem) Tried() string {
	switch {
	case fs.FlashImage != nil:
		return "raw flash, images alone"
	case fs.Raw:
		return "raw flash, not tried"
	case fs.NotMainline != "":
		return "not tried"
	}
	source, _, _ := strings.Cut(fs.Facts.Source, ")")
	_, with, _ := strings.Cut(source, "(")
	return with
}

// AbilityTable has a row for each filesystem; a cell is empty where it lacks the ability.
func AbilityTable() (heads []string, rows [][]string) {
	heads = []string{"name", "grow", "shrink", "defragment", "snapshot", "scrub", "convert from", "label", "UUID", "offline image", "tried with"}
	for _, fs := range All {
		able := func(a Ability, word string) string {
			if _, lack := fs.Can(a); lack != "" {
				return ""
			}
			return word
		}
		both := func(online, offline Ability) string {
			return strings.Trim(able(online, "online")+", "+able(offline, "offline"), ", ")
		}
		from, _, _ := strings.Cut(fs.Abilities[Convert].From, " ")
		rows = append(rows, []string{
			fs.Name, both(GrowOnline, GrowOffline), both(ShrinkOnline, ShrinkOffline), able(Defragment, "yes"), able(Snapshot, "yes"),
			able(Scrub, "yes"), from, able(Relabel, "yes"), able(NewUUID, "yes"), able(OfflineImage, "yes"), fs.Tried(),
		})
	}
	return heads, rows
}

// steps are means of argument vectors alone.
func steps(f func(o Object) [][]string) Means { return Means{Steps: f} }

// onDevice are means of one tool, which is given words and the device.
func onDevice(words ...string) Means {
	return steps(func(o Object) [][]string { return [][]string{append(words[:len(words):len(words)], o.Device)} })
}

// anyUUID is one for tools that do not choose it themselves; its beginning is a serial number.
const anyUUID = "1c6d3b5e-2f6a-4b0e-9d57-8a1e4c7f2b90"
