package labguest

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// Model describes a simulated device in a report; timing says what its requests take. The digest
// covers the model as it is, its size included, however its file is written.
func Model(m flash.Model, timing string) []result.Condition {
	c := func(name, value string, matters bool) result.Condition {
		return result.Condition{Group: "storage", Name: name, Value: value, Matters: matters}
	}
	shown := "not rotational"
	if m.Kind == flash.KindDisk {
		shown = "rotational"
	}
	scheme := m.Map.Scheme
	if m.Kind != flash.KindFlash {
		scheme = m.Kind
	}
	out := []result.Condition{
		c("lab storage", "simulated, a virtio disk shown as "+shown+"; contents in memory", true),
		c("model", m.Name+": "+m.Title, true),
		c("model scheme", scheme, true),
		c("model size", strconv.FormatInt(m.Size, 10)+" B", true),
		c("model digest", fmt.Sprintf("%.16x", sha256.Sum256([]byte(models.Write(m)))), true),
		c("model timing", timing, false),
		c("flushes", flushes(m), true),
		c("discards", yes(m.Trim.Supported), true),
	}
	if m.Fit != "" {
		out = append(out, c("model fit", strings.TrimSpace(m.Fit), false))
	}
	return out
}

// flushes says what a flush costs.
func flushes(m flash.Model) string {
	switch {
	case m.Kind == flash.KindFree:
		return "cost nothing, as everything in this model"
	case m.Kind == flash.KindDisk && m.Disk.WriteCache:
		return "wait until the disk's write cache is on the medium"
	case m.Kind == flash.KindDisk:
		return "cost a command: the disk has no write cache"
	case m.Buffer.Size > 0:
		return fmt.Sprintf("cost %v, and what programming the write buffer of %s takes", m.Bus.Flush, media.FormatSize(m.Buffer.Size))
	}
	if m.Bus.Flush == 0 {
		return "cost nothing: the model has no write buffer"
	}
	return fmt.Sprintf("cost %v: the model has no write buffer", m.Bus.Flush)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
