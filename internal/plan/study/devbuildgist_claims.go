package study

import (
	"fmt"
	"slices"
	"strings"
)

// dbgClaims are the findings of the source, in our words.
func dbgClaims() []Claim {
	var claims []Claim
	claims = append(claims, dbgSavings()...)
	claims = append(claims, dbgOrders()...)
	claims = append(claims, dbgOnUSB()...)
	claims = append(claims, dbgOnNVMe()...)
	claims = append(claims, dbgOnHDD()...)
	return append(claims, dbgOverall()...)
}

// dbgSavings: the savings of compression. The trees here have the same kinds of
// files but are different trees: 3 points either way count as agreement.
func dbgSavings() []Claim {
	const where, points = "section “compression ratio”", 0.03
	var claims []Claim
	for _, c := range []struct {
		name, candidate string
		large, small    float64
	}{
		{"lzo", dbgLzo, 0.47, 0.37}, {"zlib", dbgZlib, 0.36, 0.24}, {"zstd-1", dbgZstd1, 0.34, 0.22}, {"zstd-3", dbgZstd3, 0.34, 0.22},
	} {
		for i, share := range []float64{c.large, c.small} {
			d := []string{dbgLarge, dbgSmall}[i]
			claims = append(claims, Claim{ID: "ratio-" + c.name + "-" + d, Where: where,
				Text:  fmt.Sprintf("%s brings the tree of %s files to %.0f %% of its size (3 points either way count as agreement)", strings.ReplaceAll(c.name, "-", ":"), d, 100*share),
				Check: ValueCheck{Column: d + "-ratio", Candidate: c.candidate, Low: share - points, High: share + points}})
		}
	}
	same := func(d string) Claim {
		return Claim{ID: "ratio-zstd-levels-" + d, Where: where,
			Text:  "zstd at level 1 and at level 3 bring the tree of " + d + " files to the same size (the source has whole points; 5 % count as the same)",
			Check: RatioCheck{Column: d + "-ratio", A: dbgZstd1, B: []string{dbgZstd3}, Low: 0.95, High: 1.05}}
	}
	cost := Claim{ID: "zlib-processor", Where: where, Text: "zlib takes more of the processor than the other compressors, in writing large files",
		Check: BestCheck{Column: dbgLarge + "-write-cpu", Candidate: dbgZlib, Among: dbgCompressed, Worst: true}}
	slow := Claim{ID: "zlib-slow", Where: where, Text: "zlib writes large files more slowly than the other compressors",
		Check: BestCheck{Column: dbgLarge + "-write", Candidate: dbgZlib, Among: dbgCompressed, Worst: true}}
	return append(claims, same(dbgLarge), same(dbgSmall), cost, slow)
}

// dbgOrders: each published column of speed as an order and as figures, with a
// second repetition separately. Write times say the same as write rates.
func dbgOrders() []Claim {
	var claims []Claim
	for _, n := range dbgNumbers() {
		if n.Unit != dbgRate {
			continue
		}
		claims = append(claims, Claim{
			ID: "order/" + n.Key, Where: "section “" + dbgPlaces[n.Storage] + "”", Storage: n.Storage,
			Text: "the order by " + n.Name, Check: NumbersCheck{Table: n.Key},
		})
	}
	return claims
}

// dbgOn makes claims about one storage. Ratios are of times: 1.55 times as fast
// means 0.65 of the time. A tenth either way counts as agreement where the
// source gives a figure; the claim states any other limits.
type dbgOn string

func (on dbgOn) claim(id, text string, check Check) Claim {
	return Claim{ID: string(on) + "-" + id, Text: text, Where: "section “" + dbgPlaces[string(on)] + "”", Storage: string(on), Check: check}
}

func (on dbgOn) best(id, text, column, candidate string, among ...string) Claim {
	return on.claim(id, text, BestCheck{Column: column, Candidate: candidate, Among: among})
}

func (on dbgOn) worst(id, text, column, candidate string, among ...string) Claim {
	return on.claim(id, text, BestCheck{Column: column, Candidate: candidate, Among: among, Worst: true})
}

func (on dbgOn) ratio(id, text, column, a string, b []string, low, high float64) Claim {
	return on.claim(id, text, RatioCheck{Column: column, A: a, B: b, Low: low, High: high})
}

// faster claims that a is the given number of times as fast as b.
func (on dbgOn) faster(id, text, column, a string, b []string, times float64) Claim {
	return on.ratio(id, text, column, a, b, 0.9/times, 1.1/times)
}

// dbgTested are the candidates of the source's tables of speed; zlib was left
// out of them.
var dbgTested = []string{"ext4", "xfs", dbgBtrfs, dbgLzo, dbgZstd1, dbgZstd3}

// others are the candidates of the tables besides one.
func (on dbgOn) others(candidate string) []string {
	tested := dbgTested
	if on == dbgNVMe { // its tables lack zstd:3
		tested = dbgTested[:5]
	}
	return slices.DeleteFunc(slices.Clone(tested), func(n string) bool { return n == candidate })
}

// ahead claims that a is faster than every other, by however little: for leads
// that are smaller in the source than what counts here as a difference.
func (on dbgOn) ahead(id, text, column, a string) Claim {
	return on.ratio(id, text, column, a, on.others(a), 0, 1)
}

func dbgOnUSB() []Claim {
	on := dbgOn(dbgUSB)
	ext4, plain := []string{"ext4"}, []string{dbgBtrfs}
	pipe := on.claim("small-tar-over-cp", "with compression, reading small files through tar is about 20 % faster than copying them into memory (10 to 30 %)",
		ColumnsCheck{Column: "small-pipe", Over: "small-fetch", Low: 1 / 1.3, High: 1 / 1.1, Candidates: []string{dbgLzo, dbgZstd1, dbgZstd3}})
	pipe.Contradicted = "“tar has about 20% more speed when using compressed btrfs”: in the two tables below it, tar is faster by 6 % with zstd:3, by 13 and 14 % with lzo and by 16 % with zstd:1"
	slow := func(id, text, column, over string, low, high float64) Claim {
		return on.claim(id, text, ColumnsCheck{Column: column, Over: over, Low: low, High: high, Candidates: dbgTested})
	}
	return []Claim{
		on.best("large-zstd3-write", "zstd:3 writes large files fastest", "large-write", dbgZstd3, dbgTested...),
		on.ratio("large-zstd-read", "zstd:3 and zstd:1 read large files into memory faster than the others (at least 10 % less time)", "large-fetch", dbgZstd3,
			[]string{"ext4", "xfs", dbgBtrfs, dbgLzo}, 0, 1/1.1),
		on.ratio("large-zstd-levels-read", "zstd:1 reads large files into memory as fast as zstd:3 (within 10 %)", "large-fetch", dbgZstd1, []string{dbgZstd3}, 0.9, 1.1),
		on.faster("large-zstd3-write-gain", "zstd:3 writes large files 55 % faster than ext4", "large-write", dbgZstd3, ext4, 1.55),
		on.faster("large-zstd1-write-gain", "zstd:1 writes large files 35 % faster than ext4", "large-write", dbgZstd1, ext4, 1.35),
		on.faster("large-lzo-write-gain", "lzo writes large files 43 % faster than ext4", "large-write", dbgLzo, ext4, 1.43),
		on.faster("large-zstd3-read-gain", "zstd:3 reads large files into memory 133 % faster than ext4", "large-fetch", dbgZstd3, ext4, 2.33),
		on.faster("large-zstd1-read-gain", "zstd:1 reads large files into memory 133 % faster than ext4", "large-fetch", dbgZstd1, ext4, 2.33),
		on.faster("large-lzo-read-gain", "lzo reads large files into memory 79 % faster than ext4", "large-fetch", dbgLzo, ext4, 1.79),
		on.ratio("large-btrfs-write", "uncompressed Btrfs writes large files about as fast as ext4 and XFS, or a little more slowly (3 % less to 10 % more time)", "large-write", dbgBtrfs, []string{"ext4", "xfs"}, 0.97, 1.1),
		on.ratio("large-btrfs-read", "uncompressed Btrfs reads large files into memory a little more slowly than ext4 and XFS (up to 10 %)", "large-fetch", dbgBtrfs, []string{"ext4", "xfs"}, 1, 1.1),
		on.ahead("large-btrfs-tar", "uncompressed Btrfs reads large files fastest through tar", "large-pipe", dbgBtrfs),
		on.faster("large-lzo-tar", "through tar, lzo reads large files at about 70 % of uncompressed Btrfs's speed", "large-pipe", dbgLzo, plain, 0.7),
		on.faster("large-zstd1-tar", "through tar, zstd:1 reads large files at about 70 % of uncompressed Btrfs's speed", "large-pipe", dbgZstd1, plain, 0.7),
		on.faster("large-zstd3-tar", "through tar, zstd:3 reads large files at about 70 % of uncompressed Btrfs's speed", "large-pipe", dbgZstd3, plain, 0.7),
		slow("small-slow-write", "small files are written at about 30 % of the speed of large ones (half to twice as much counts as agreement)", "small-write", "large-write", 1/0.6, 1/0.15),
		slow("small-slow-read", "small files are read into memory at about 10 % of the speed of large ones (half to twice as much counts as agreement)", "small-fetch", "large-fetch", 1/0.2, 1/0.05),
		on.ratio("small-xfs-write", "XFS writes small files more slowly than any other", "small-write", "xfs", on.others("xfs"), 1, 0),
		on.ratio("small-btrfs-write", "uncompressed Btrfs writes small files at least 18 % faster than ext4", "small-write", dbgBtrfs, ext4, 0, 1/1.18),
		on.faster("small-btrfs-read", "uncompressed Btrfs reads small files into memory 22 % faster than ext4", "small-fetch", dbgBtrfs, ext4, 1.22),
		on.ratio("small-lzo-write", "lzo writes small files faster than ext4, by 35 % at best", "small-write", dbgLzo, ext4, 0.9/1.35, 1),
		on.ratio("small-zstd1-write", "zstd:1 writes small files faster than ext4, by 35 % at best", "small-write", dbgZstd1, ext4, 0.9/1.35, 1),
		on.ratio("small-zstd3-write", "zstd:3 writes small files faster than ext4, by 35 % at best", "small-write", dbgZstd3, ext4, 0.9/1.35, 1),
		on.ratio("small-compression-write", "uncompressed Btrfs writes small files about as fast as with any compression (at most 10 % more time)", "small-write", dbgBtrfs, []string{dbgLzo, dbgZstd1, dbgZstd3}, 0, 1.1),
		on.faster("small-lzo-read", "lzo reads small files into memory about 60 % faster than ext4", "small-fetch", dbgLzo, ext4, 1.6),
		on.faster("small-zstd1-read", "zstd:1 reads small files into memory about 60 % faster than ext4", "small-fetch", dbgZstd1, ext4, 1.6),
		on.faster("small-zstd3-read", "zstd:3 reads small files into memory about 60 % faster than ext4", "small-fetch", dbgZstd3, ext4, 1.6),
		on.claim("small-compression-read", "small files are read into memory about equally fast with lzo, zstd:1 and zstd:3 (within 10 %)",
			SpreadCheck{Column: "small-fetch", Candidates: []string{dbgLzo, dbgZstd1, dbgZstd3}, High: 1.1}),
		pipe,
	}
}

func dbgOnNVMe() []Claim {
	on := dbgOn(dbgNVMe)
	others, compressed := []string{"ext4", "xfs"}, []string{dbgLzo, dbgZstd1}
	small := on.ratio("small-zstd1-write", "zstd:1 writes small files at 60 to 70 % of the speed of uncompressed Btrfs", "small-write", dbgZstd1, []string{dbgBtrfs}, 1/0.7, 1/0.6)
	small.Contradicted = "“only 60-70% speed of non-compressed btrfs”: its table has 124.7 MiB/s and 214.3 MiB/s, which is 58 %"
	return []Claim{
		on.best("large-lzo-write", "lzo writes large files fastest", "large-write", dbgLzo, append(on.others(dbgLzo), dbgLzo)...),
		on.ratio("large-zstd1-write", "zstd:1 pays for its better compression when it writes large files (at least 1.25 times lzo's time)", "large-write", dbgZstd1, []string{dbgLzo}, 1.25, 0),
		on.claim("large-unstable", "ext4's and XFS's speeds of writing large files are less stable than Btrfs's",
			NoiseCheck{Of: []string{"large-write"}, Candidates: others, Than: append([]string{dbgBtrfs}, compressed...), Low: 1}),
		on.ratio("large-lzo-tar", "through tar, lzo reads large files at about half the speed of other filesystems (a third to two thirds)", "large-pipe", dbgLzo, append([]string{dbgBtrfs}, others...), 1.5, 3),
		on.ratio("large-zstd1-tar", "through tar, zstd:1 reads large files at about half the speed of other filesystems (a third to two thirds)", "large-pipe", dbgZstd1, append([]string{dbgBtrfs}, others...), 1.5, 3),
		on.claim("large-tar-under-cp", "with compression, reading large files through tar is about half as fast as copying them into memory (a third to two thirds)",
			ColumnsCheck{Column: "large-pipe", Over: "large-fetch", Low: 1.5, High: 3, Candidates: compressed}),
		on.claim("small-tar-over-cp", "on Btrfs, reading small files through tar is about 25 % faster than copying them into memory",
			ColumnsCheck{Column: "small-pipe", Over: "small-fetch", Low: 0.9 / 1.25, High: 1.1 / 1.25, Candidates: append([]string{dbgBtrfs}, compressed...)}),
		on.ratio("small-lzo-write", "lzo writes small files slightly faster than ext4 and XFS (up to 20 %)", "small-write", dbgLzo, others, 1/1.2, 1),
		on.ratio("small-btrfs-write", "uncompressed Btrfs writes small files slightly faster than ext4 and XFS (up to 20 %)", "small-write", dbgBtrfs, others, 1/1.2, 1),
		small,
		on.worst("small-zstd1-slowest", "zstd:1 writes small files most slowly", "small-write", dbgZstd1, append(on.others(dbgZstd1), dbgZstd1)...),
		on.faster("small-btrfs-read", "uncompressed Btrfs reads small files into memory about 20 % faster than ext4 and XFS", "small-fetch", dbgBtrfs, others, 1.2),
		on.faster("small-lzo-read", "lzo reads small files into memory about 20 % faster than ext4 and XFS", "small-fetch", dbgLzo, others, 1.2),
		on.faster("small-zstd1-read", "zstd:1 reads small files into memory about 20 % faster than ext4 and XFS", "small-fetch", dbgZstd1, others, 1.2),
	}
}

func dbgOnHDD() []Claim {
	on := dbgOn(dbgHDD)
	plain := []string{dbgBtrfs}
	return []Claim{
		on.worst("large-ext4-write", "ext4 writes large files most slowly", "large-write", "ext4", dbgTested...),
		on.ratio("large-btrfs-write", "Btrfs writes large files faster than XFS and ext4 even uncompressed", "large-write", dbgBtrfs, []string{"ext4", "xfs"}, 0, 1),
		on.ratio("large-btrfs-read", "Btrfs reads large files into memory faster than XFS and ext4 even uncompressed", "large-fetch", dbgBtrfs, []string{"ext4", "xfs"}, 0, 1),
		on.ratio("large-zstd1-write", "zstd:1 has a large advantage over uncompressed Btrfs in writing large files (at least 1.25 times as fast)", "large-write", dbgZstd1, plain, 0, 0.8),
		on.ratio("large-lzo-write", "lzo has a large advantage over uncompressed Btrfs in writing large files (at least 1.25 times as fast)", "large-write", dbgLzo, plain, 0, 0.8),
		on.ratio("large-zstd-levels", "zstd:3 gains little over zstd:1 in writing large files (10 % at most)", "large-write", dbgZstd1, []string{dbgZstd3}, 0, 1.1),
		on.ratio("small-btrfs-collapse", "uncompressed Btrfs takes about 100 times as long as zstd:1 to write small files (50 to 200 times count as agreement)", "small-write", dbgBtrfs, []string{dbgZstd1}, 50, 200),
		on.ratio("small-ext4-xfs", "ext4 writes small files about 5 times as fast as XFS (2.5 to 10 times count as agreement)", "small-write", "xfs", []string{"ext4"}, 2.5, 10),
		on.ratio("small-ext4-btrfs", "ext4 writes small files about 45 times as fast as uncompressed Btrfs (22 to 90 times count as agreement)", "small-write", dbgBtrfs, []string{"ext4"}, 22, 90),
		on.ratio("small-lzo-zstd", "lzo writes small files at about half the speed of zstd:1 (40 to 60 %)", "small-write", dbgLzo, []string{dbgZstd1}, 1/0.6, 1/0.4),
		on.faster("small-zstd-levels", "zstd:3 writes small files 10 % more slowly than zstd:1", "small-write", dbgZstd3, []string{dbgZstd1}, 0.9),
		on.ratio("small-btrfs-read", "Btrfs reads small files into memory much faster than ext4 even uncompressed (at least 1.25 times as fast)", "small-fetch", dbgBtrfs, []string{"ext4"}, 0, 0.8),
		on.worst("small-xfs-read", "XFS reads small files into memory most slowly", "small-fetch", "xfs", dbgTested...),
	}
}

// dbgOverall has the claims on compression as such, on several storages, and on
// the choice among all candidates.
func dbgOverall() []Claim {
	const conclusion, preliminary = "section “Conclusion”", "section “preliminary tests”"
	across := func(d, column, text string) Claim {
		return Claim{ID: "hdd-small-" + d, Where: conclusion, Text: text + " (at least twice the time)",
			Check: AcrossCheck{Column: column, On: dbgHDD, Over: []string{dbgUSB, dbgNVMe}, Low: 2, Candidates: dbgTested[:5]}}
	}
	write := across("write", "small-write", "the hard disk takes far longer to write small files than the SSDs, with every filesystem")
	write.Contradicted = "“the SSDs still perform far better than HDD”: its tables have zstd:1 writing small files at 121.6 MiB/s on the hard disk and at 124.7 MiB/s on the NVMe SSD"
	alike := func(a, b string) Claim {
		return Claim{ID: "unsynced-" + strings.NewReplacer("btrfs -o compress=", "", ":", "-").Replace(a), Where: preliminary, Storage: dbgUSB,
			Text:  a + " and " + b + " copy large files about equally fast until the copying program ends, without waiting for the storage (20 % either way; 1.1 s with XFS, 0.97 s with Btrfs and 0.94 s with zstd:1)",
			Check: RatioCheck{Column: dbgLarge + "-copied", A: a, B: []string{b}, Low: 1 / 1.2, High: 1.2}}
	}
	// What is compressed already, of which the introduction says this; its example is a large .git,
	// which also has indexes.
	packed := func(d, what string, least float64) []Claim {
		one := func(id, text string, k Check) Claim {
			return Claim{ID: d + "-" + id, Where: "section “Introduction”", Text: text, Check: k, At: "claims"}
		}
		return []Claim{
			one("space", "compressing "+what+" saves no space (with zstd:1 it takes at least "+fmt.Sprint(100*least)+" %)",
				ValueCheck{Column: d + "-ratio", Candidate: dbgZstd1, Low: least, High: 1.01}),
			one("write", "compressing "+what+" does not make writing faster (zstd:1 takes at least 90 % of the time of uncompressed Btrfs)",
				RatioCheck{Column: d + "-write", A: dbgZstd1, B: []string{dbgBtrfs}, Low: 0.9}),
			one("read", "compressing "+what+" does not make reading faster (likewise)",
				RatioCheck{Column: d + "-read", A: dbgZstd1, B: []string{dbgBtrfs}, Low: 0.9}),
			one("smart", "Btrfs sees what is worth compressing: writing "+what+" costs it little more of the processor's time (with zstd:1 at most 1.5 times that of uncompressed Btrfs)",
				RatioCheck{Column: d + "-cpu", A: dbgZstd1, B: []string{dbgBtrfs}, High: 1.5}),
		}
	}
	claims := slices.Concat(packed(dbgPacked, "a file that is compressed already", 0.99), packed(dbgGit, "a .git", 0.95), []Claim{
		{ID: "slower-gains-more", Where: conclusion, Text: "the slower the device, the more compression (zstd:1) gains over uncompressed Btrfs in writing large files",
			Check: TrendCheck{Column: dbgLarge + "-write", A: dbgZstd1, B: dbgBtrfs, Over: []string{dbgNVMe, dbgUSB, dbgHDD}, Falls: true}},
		write,
		across("read", "small-fetch", "the hard disk takes far longer to read small files into memory than the SSDs, with every filesystem"),
		{ID: "lzo-processor", Where: conclusion, Text: "lzo needs far less of the processor than zstd:1 in writing large files (at least a fifth less)",
			Check: RatioCheck{Column: dbgLarge + "-write-cpu", A: dbgLzo, B: []string{dbgZstd1}, High: 0.8}},
		{ID: "compressing-slower", Where: conclusion, Text: "compressing is far slower than decompressing: with zstd:1, writing large files takes at least half as much processor time again as reading them into memory",
			Check: ColumnsCheck{Column: dbgLarge + "-write-cpu", Over: dbgLarge + "-fetch-cpu", Low: 1.5, Candidates: []string{dbgZstd1}}},
		alike("xfs", dbgBtrfs), alike(dbgZstd1, dbgBtrfs),
		{ID: "preliminary-read", Where: preliminary, Storage: dbgUSB, Text: "zstd:1 reads large files into memory 130 % faster than uncompressed Btrfs",
			Check: RatioCheck{Column: dbgLarge + "-fetch", A: dbgZstd1, B: []string{dbgBtrfs}, Low: 0.9 / 2.3, High: 1.1 / 2.3}},
		{ID: "preliminary-peak", Where: preliminary, Storage: dbgUSB, Text: "reading with zstd:1, the device is slower than with uncompressed Btrfs, but not by much (up to a fifth; 338.9 and 379.0 MB/s at most)",
			Check: RatioCheck{Column: dbgLarge + "-fetch-peak", A: dbgZstd1, B: []string{dbgBtrfs}, Low: 0.8, High: 1}},
	})
	return append(claims, dbgRecommended()...)
}

// dbgRecommended are the recommendations for each device: places in the product
// of writing and of reading into memory, as in the tables of choices.
func dbgRecommended() []Claim {
	large, small := []string{dbgLarge + "-write", dbgLarge + "-fetch"}, []string{dbgSmall + "-write", dbgSmall + "-fetch"}
	choice := func(storage, id, text, candidate string, worst bool, of ...string) Claim {
		on := dbgOn(storage)
		return Claim{ID: storage + "-" + id, Where: "section “choices”", Storage: storage, Text: text + " (writing and reading into memory together)",
			Check: ChoiceCheck{Of: of, Candidate: candidate, Among: append(on.others(candidate), candidate), Worst: worst}}
	}
	both := slices.Concat(large, small)
	first := choice(dbgUSB, "choice-large", "zstd:1 is the best choice for large files", dbgZstd1, false, large...)
	first.Contradicted = "the table of choices has zstd:1 before zstd:3 for “normal build dirs”: the text above it has “zstd:3 is the best”, with 458 against 398 MiB/s in writing and 853 against 839 MiB/s in reading"
	return []Claim{
		first,
		choice(dbgUSB, "recommended", "zstd:3 is the best choice for large and small files together", dbgZstd3, false, both...),
		choice(dbgUSB, "avoided", "XFS is the worst choice for large and small files together", "xfs", true, both...),
		choice(dbgNVMe, "recommended", "lzo is the best choice for large and small files together", dbgLzo, false, both...),
		choice(dbgHDD, "recommended", "zstd:1 is the best choice for large and small files together", dbgZstd1, false, both...),
		choice(dbgHDD, "avoided", "uncompressed Btrfs is the worst choice for small files", dbgBtrfs, true, small...),
	}
}
