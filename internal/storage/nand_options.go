package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NANDOptions are the options of nand:, in the order in which they are written.
var NANDOptions = []string{"page", "bad", "weak", "weakpages", "grave", "bitflips", "ecc", "cycles"}

// nandText is how long a list may become as a module parameter: the kernel
// takes 1024 bytes and no more (param_set_charp).
const nandText = 1024

// maxBitflips of a page: nandsim turns over that many of its bits at most, and
// more than a few hundred make it slow and nothing else.
const maxBitflips = 256

// nandWords reads "name=value" words.
func nandWords(words []string) (map[string]string, error) {
	var options map[string]string
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if !slices.Contains(NANDOptions, name) {
			return nil, fmt.Errorf("unknown option %q; allowed are %s", name, strings.Join(NANDOptions, ", "))
		}
		if _, twice := options[name]; twice {
			return nil, fmt.Errorf("option %s is given twice", name)
		}
		if options == nil {
			options = map[string]string{}
		}
		options[name] = value
	}
	return options, nil
}

func (n NAND) with(options map[string]string) (NAND, error) {
	for _, name := range NANDOptions {
		value, given := options[name]
		if !given {
			continue
		}
		var err error
		switch name {
		case "bad":
			var list []Limit
			if list, err = parseLimits(value, "block", n.Blocks(), false); err == nil {
				n.Bad = slices.Clone(n.Bad)
				for _, l := range list {
					n.Bad = append(n.Bad, l.N)
				}
				slices.Sort(n.Bad)
				n.Bad = slices.Compact(n.Bad)
			}
			err = first(err, tooLong(joined(n.Bad)))
		case "weak":
			n.Weak, err = moreLimits(n.Weak, value, "block", n.Blocks())
		case "weakpages":
			n.WeakPages, err = moreLimits(n.WeakPages, value, "page", n.Pages())
		case "grave":
			n.GravePages, err = moreLimits(n.GravePages, value, "page", n.Pages())
		case "bitflips":
			var v int64
			v, err = parseCount(value, 0, maxBitflips)
			n.Bitflips = int(v)
		case "ecc":
			var v int64
			// What fits into the spare bytes: 13 bits for each bit to be
			// corrected in each 512 bytes, and 2 B for the bad block's mark.
			if n.Page < 2048 {
				err = fmt.Errorf("a chip with pages of %d has too few spare bytes for a BCH code; leave ecc out, or take pages of 2k", n.Page)
			} else if v, err = parseCount(value, 1, maxBCH(n.Page, n.OOB)); err == nil {
				n.ECC = int(v)
			}
		case "cycles":
			n.Cycles, err = parseCount(value, 1, 1_000_000_000)
		}
		if err != nil {
			return NAND{}, fmt.Errorf("option %s: %w", name, err)
		}
	}
	return n, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func tooLong(text string) error {
	if len(text) > nandText {
		return fmt.Errorf("the list is too long: nandsim takes %d characters of it, and this has %d", nandText, len(text))
	}
	return nil
}

// maxBCH is how many bits per 512 B a BCH code can correct that fits into the
// spare bytes.
func maxBCH(page, oob int) int64 {
	bits := int64(0)
	for (((bits+1)*13+7)/8)*int64(page/512)+2 <= int64(oob) {
		bits++
	}
	return bits
}

func moreLimits(old []Limit, value, what string, count int64) ([]Limit, error) {
	list, err := parseLimits(value, what, count, true)
	if err != nil {
		return nil, err
	}
	all := mergeLimits(old, list)
	return all, tooLong(limits(all, ":", ","))
}

// parseLimits reads blocks or pages with colons between them, each with the
// number of times that it works behind a slash if there may be one: "7/100:9".
// "0-63" is all from 0 to 63.
func parseLimits(value, what string, count int64, timed bool) ([]Limit, error) {
	var list []Limit
	seen := map[int64]bool{}
	for _, word := range strings.Split(value, ":") {
		number, times, slash := strings.Cut(word, "/")
		after := int64(nandTimes)
		switch {
		case slash && !timed:
			return nil, fmt.Errorf("%q: a %s that is bad takes no number of times; weak= has those", word, what)
		case slash:
			var err error
			if after, err = parseCount(times, 0, 1_000_000_000); err != nil {
				return nil, err
			}
		}
		from, to, span := strings.Cut(number, "-")
		start, err := parsePlace(from, what, count)
		end := start
		if err == nil && span {
			end, err = parsePlace(to, what, count)
		}
		if err != nil {
			return nil, err
		}
		if end < start {
			return nil, fmt.Errorf("%q goes backwards", number)
		}
		for n := start; n <= end; n++ {
			if seen[n] {
				return nil, fmt.Errorf("%s %d is named twice", what, n)
			}
			if len(seen) == nandText { // before a long span fills the memory
				return nil, fmt.Errorf("the list is too long: nandsim takes %d characters of it", nandText)
			}
			seen[n] = true
			list = append(list, Limit{n, after})
		}
	}
	return list, nil
}

func parsePlace(text, what string, count int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%q is not the number of a %s", text, what)
	}
	if n >= count {
		return 0, fmt.Errorf("%s %d is not on the chip, which has %d from 0 to %d", what, n, count, count-1)
	}
	return n, nil
}

func parseCount(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n < least || n > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", text, least, most)
	}
	return n, nil
}

// mergeLimits adds limits; a later one of the same block or page counts.
func mergeLimits(old, more []Limit) []Limit {
	all := slices.Clone(old)
	for _, l := range more {
		if i := slices.IndexFunc(all, func(o Limit) bool { return o.N == l.N }); i >= 0 {
			all[i] = l
		} else {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Limit) int { return int(a.N - b.N) })
	return all
}
