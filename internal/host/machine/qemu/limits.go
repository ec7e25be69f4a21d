package qemu

import (
	"fmt"
	"strings"

	"whichfs/internal/plan/media"
)

// limits are what a disk may do per second; 0: no limit. The two directions are limited either
// together or separately.
type limits struct {
	bps, bpsRead, bpsWrite    int64 // B/s
	iops, iopsRead, iopsWrite int64 // requests/s
}

// cardLimits are those of an ordinary A1 SD card: the class promises 1500
// random reads and 500 random writes a second, and such cards stream about
// 40 MB/s and 20 MB/s.
var cardLimits = limits{bpsRead: 40e6, bpsWrite: 20e6, iopsRead: 1500, iopsWrite: 500}

// limitsOf are the user's limits; for a disk, the unspecified ones are a card's. A real card behind
// its controller has no limits of ours: QEMU moves its data block by block, so that a request there
// is 512 bytes, and the controller sets the pace.
func limitsOf(s media.Storage) limits {
	l := limits{
		bps: s.Limit("bps"), bpsRead: s.Limit("bps_rd"), bpsWrite: s.Limit("bps_wr"),
		iops: s.Limit("iops"), iopsRead: s.Limit("iops_rd"), iopsWrite: s.Limit("iops_wr"),
	}
	if s.Kind == media.KindSD {
		return l
	}
	if l.bps == 0 {
		l.bpsRead, l.bpsWrite = or(l.bpsRead, cardLimits.bpsRead), or(l.bpsWrite, cardLimits.bpsWrite)
	}
	if l.iops == 0 {
		l.iopsRead, l.iopsWrite = or(l.iopsRead, cardLimits.iopsRead), or(l.iopsWrite, cardLimits.iopsWrite)
	}
	return l
}

func or(n, fallback int64) int64 {
	if n == 0 {
		return fallback
	}
	return n
}

type limit struct {
	name      string
	perSecond int64
}

// qemu names the limits that are set as QEMU's drives do.
func (l limits) qemu() []limit {
	var set []limit
	for _, one := range []limit{
		{"bps-total", l.bps}, {"bps-read", l.bpsRead}, {"bps-write", l.bpsWrite},
		{"iops-total", l.iops}, {"iops-read", l.iopsRead}, {"iops-write", l.iopsWrite},
	} {
		if one.perSecond > 0 {
			set = append(set, one)
		}
	}
	return set
}

// String describes the limits for a report.
func (l limits) String() string {
	var parts []string
	add := func(what string, bps, iops int64) {
		var words []string
		if bps > 0 {
			words = append(words, fmt.Sprintf("%g MB/s", float64(bps)/1e6))
		}
		if iops > 0 {
			words = append(words, fmt.Sprintf("%d requests/s", iops))
		}
		if len(words) > 0 {
			parts = append(parts, what+" "+strings.Join(words, " and "))
		}
	}
	add("reads", l.bpsRead, l.iopsRead)
	add("writes", l.bpsWrite, l.iopsWrite)
	add("together", l.bps, l.iops)
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
