package main

import (
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// daily is the daily volume for years of life, in bytes.
func (o outputs) daily() (float64, error) {
	if o.Daily == "" {
		return verdict.DefaultDaily, nil
	}
	size, err := media.ParseSize(o.Daily)
	if err != nil {
		return 0, result.Refuse("for instance --daily 10G", "--daily: %v", err)
	}
	return float64(size), nil
}
