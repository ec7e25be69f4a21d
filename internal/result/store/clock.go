package store

import "encoding/json"

// clockOf reads from a run's plan which clock its figures were taken with; the
// table has no column for what the plan says.
func clockOf(plan []byte) string {
	var p struct {
		Clock string `json:"clock"`
	}
	if json.Unmarshal(plan, &p) != nil {
		return "" // not a plan of ours
	}
	return p.Clock
}
