package recommend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Need is a property that a candidate must have or a limit that it must keep.
type Need struct {
	Name string `json:"name"` // "power-loss-safe", "min-size", "max-boot"
	// Column of a limit, as written; empty: the need is a fact.
	Column string `json:"column,omitempty"`
	// Limit in Unit ("s", "B", "1"), and as written.
	Limit   float64 `json:"limit,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	Written string  `json:"written,omitempty"`
}

// String is the need as written.
func (n Need) String() string {
	if n.Written == "" {
		return n.Name
	}
	return n.Name + "=" + n.Written
}

// fact is a need that facts alone decide.
type fact struct {
	name, about string
	of          func(c filesystem.Candidate) filesystem.Property
	// possible: it is enough that some options would provide it.
	possible bool
}

// facts are all of them, in the order of lists.
var facts = []fact{
	{name: "power-loss-safe", about: "is consistent after a power loss, with all synced data",
		of: func(c filesystem.Candidate) filesystem.Property { return c.Properties().PowerLoss }},
	{name: "read-write", about: "can be written to", of: writable},
	{name: "read-only", about: "is made as an image that never changes", of: image},
	{name: "compression", about: "compresses files, with the candidate's options",
		of: func(c filesystem.Candidate) filesystem.Property { return c.Properties().Compression }},
	{name: "encryption", about: "can encrypt directories itself (fscrypt); encryption below the filesystem works with all", possible: true,
		of: func(c filesystem.Candidate) filesystem.Property { return c.Properties().Encryption }},
	{name: "checksums", about: "verifies checksums of data and metadata on every read",
		of: func(c filesystem.Candidate) filesystem.Property { return c.Properties().Checksums }},
	{name: "metadata-checksums", about: "verifies checksums of at least the metadata",
		of: func(c filesystem.Candidate) filesystem.Property { return c.Properties().MetaChecksums }},
	{name: "no-journal", about: "does not write changes twice for a journal", of: journalless},
	{name: "dates-after-2038", about: "stores file times after January 2038", of: late},
	{name: "owners", about: "stores owners and modes of files",
		of: holds("owners and modes of files", func(l filesystem.Lacks) bool { return l.Owners })},
	{name: "symlinks", about: "stores symbolic links",
		of: holds("symbolic links", func(l filesystem.Lacks) bool { return l.Symlinks })},
	{name: "hard-links", about: "stores hard links",
		of: holds("hard links", func(l filesystem.Lacks) bool { return l.Hardlinks })},
	{name: "special-files", about: "stores device nodes, sockets and named pipes",
		of: holds("special files", func(l filesystem.Lacks) bool { return l.Specials })},
	{name: "case-sensitive", about: "distinguishes names that differ only in case",
		of: holds("names that differ only in case", func(l filesystem.Lacks) bool { return l.FoldsCase })},
	{name: "files-over-4gib", about: "stores files of 4 GiB and larger",
		of: holds("files of 4 GiB", func(l filesystem.Lacks) bool { return l.MaxFile > 0 && l.MaxFile < 1<<32 })},
	{name: "grow", about: "grows, mounted or not", of: can(filesystem.GrowOnline, filesystem.GrowOffline)},
	ability(filesystem.GrowOnline),
	{name: "shrink", about: "shrinks, mounted or not", of: can(filesystem.ShrinkOnline, filesystem.ShrinkOffline)},
	ability(filesystem.ShrinkOnline),
	ability(filesystem.Defragment),
	ability(filesystem.Snapshot),
	ability(filesystem.Scrub),
	ability(filesystem.Convert),
	ability(filesystem.Relabel),
	ability(filesystem.NewUUID),
	ability(filesystem.OfflineImage),
}

// ability is the need of one ability.
func ability(a filesystem.Ability) fact {
	at := slices.IndexFunc(filesystem.Abilities, func(k filesystem.KnownAbility) bool { return k.Name == a })
	return fact{name: string(a), about: filesystem.Abilities[at].About, of: can(a)}
}

// can is met by one of several abilities.
func can(any ...filesystem.Ability) func(filesystem.Candidate) filesystem.Property {
	return func(c filesystem.Candidate) filesystem.Property {
		fs := c.Filesystem()
		lack, source := "", "tried in the whichfs lab ("+fs.Tried()+")"
		for _, a := range any {
			_, why := fs.Can(a)
			if why == "" {
				return filesystem.Property{Has: true, Why: "has the ability " + string(a), Source: source}
			}
			lack = cmp.Or(lack, why)
		}
		return filesystem.Property{Why: lack, Source: source}
	}
}

func factByName(name string) (fact, bool) {
	for _, f := range facts {
		if f.name == name {
			return f, true
		}
	}
	return fact{}, false
}

// Known is a line of the list of needs.
type Known struct{ Name, About string }

// Needs lists all needs, one line each.
func Needs() []Known {
	var out []Known
	for _, f := range facts {
		out = append(out, Known{f.name, f.about})
	}
	for _, p := range proven {
		out = append(out, Known{p.name + "=" + p.value, p.about})
	}
	return append(out,
		Known{"min-size=SIZE", "can be made on storage of this size: min-size=64MiB"},
		Known{"max-KEY=LIMIT", "keeps a limit on a measured figure: max-boot=0.5s, max-mount=200ms, max-space=40MiB"})
}

// driverSource is the source of facts that any trial shows directly.
const driverSource = "drivers of Linux 6.1 and tools of Debian 12"

func property(yes bool, has, lacks, source string) filesystem.Property {
	if yes {
		return filesystem.Property{Has: true, Why: has, Source: source}
	}
	return filesystem.Property{Why: lacks, Source: source}
}

func writable(c filesystem.Candidate) filesystem.Property {
	return property(!c.Filesystem().ReadOnly, "can be written to", "cannot be written to", driverSource)
}

func image(c filesystem.Candidate) filesystem.Property {
	return property(c.Filesystem().ReadOnly, "is an image", "can be written to", driverSource)
}

func journalless(c filesystem.Candidate) filesystem.Property {
	p := c.Properties().Journal
	p.Has, p.With = !p.Has, ""
	return p
}

func late(c filesystem.Candidate) filesystem.Property {
	d := c.Properties().Dates
	return property(d.Until > 2038, fmt.Sprintf("stores dates until %d", d.Until), fmt.Sprintf("stores dates until %d: %s", d.Until, d.Why), d.Source)
}

func holds(what string, lacks func(filesystem.Lacks) bool) func(filesystem.Candidate) filesystem.Property {
	return func(c filesystem.Candidate) filesystem.Property {
		return property(!lacks(c.Filesystem().Lacks(c)), "holds "+what, "cannot store "+what, driverSource)
	}
}

// meets tests a candidate against a need that facts decide; every candidate
// meets any other need. If it fails, out says why; note is a remark on one that
// meets it.
func (n Need) meets(c candidate) (out Exclusion, note string, ok bool) {
	out = Exclusion{Candidate: c.name, Need: n.String()}
	if n.Column != "" || n.isProven() {
		return out, "", true
	}
	if c.Err() != nil {
		out.Why, out.Source = "is a filesystem unknown to this version", "whichfs list filesystems"
		return out, "", false
	}
	if n.Name == "min-size" {
		least := c.Filesystem().MinSize(c.Candidate)
		out.Why, out.Source = "needs at least "+units.Size(least), "tested in the whichfs lab"
		return out, "", float64(least) <= n.Limit
	}
	f, _ := factByName(n.Name)
	p := f.of(c.Candidate)
	if n.Name == "compression" {
		p = c.dropped(p)
	}
	out.Why, out.Source, out.Remedy = p.Why, p.Source, p.With
	if !p.Has && f.possible && p.With != "" {
		return out, fmt.Sprintf("%s requires %s, which was not measured", n.Name, p.With), true
	}
	return out, "", p.Has
}

// dropped reports whether a run found an option for compression not in force.
func (c candidate) dropped(p filesystem.Property) filesystem.Property {
	for _, v := range c.seen {
		for _, o := range v.Options {
			if p.Has && o.State == result.Ignored && strings.Contains(o.Text, "compress") {
				return filesystem.Property{Why: "accepted the option " + o.Text + ", which is not in force", Source: "found in the run: " + o.Evidence}
			}
		}
	}
	return p
}
