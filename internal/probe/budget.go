package probe

import "time"

// Budget is how long a probe of an effort takes about on the target's clock,
// for those who announce one; 0 for an effort that does not exist.
func Budget(effort string) time.Duration {
	d, err := budget(effort)
	if err != nil {
		return 0
	}
	return d
}
