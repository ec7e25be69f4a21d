package fault

import "fmt"

// MarshalText writes the key, so that files and messages say "io-error" and not
// a number that changes its meaning when an outcome is added. The zero value is
// an empty text.
func (o Outcome) MarshalText() ([]byte, error) {
	if o == 0 {
		return nil, nil
	}
	if _, ok := outcomeKeys[o]; !ok {
		return nil, fmt.Errorf("there is no outcome %d", int(o))
	}
	return []byte(o.Key()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*o = 0
		return nil
	}
	for k, name := range outcomeKeys {
		if name == string(text) {
			*o = k
			return nil
		}
	}
	return fmt.Errorf("there is no outcome %q", text)
}
