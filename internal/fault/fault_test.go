package fault

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOutcomeAsText(t *testing.T) {
	for _, o := range append([]Outcome{0}, Outcomes...) {
		text, err := json.Marshal(Breach{Promise: "fsync", Outcome: o, What: "x"})
		if err != nil {
			t.Fatal(err)
		}
		var back Breach
		if err := json.Unmarshal(text, &back); err != nil || back.Outcome != o {
			t.Errorf("%s became %v: %v", text, back.Outcome, err)
		}
	}
	if text, _ := json.Marshal(Breach{Outcome: IOError}); string(text) != `{"promise":"","outcome":"io-error","what":""}` {
		t.Errorf("%s", text)
	}
	if _, err := json.Marshal(Outcome(99)); err == nil {
		t.Error("an outcome that does not exist was written")
	}
	var o Outcome
	if err := json.Unmarshal([]byte(`"eaten"`), &o); err == nil {
		t.Error("an outcome that does not exist was read")
	}
}

// The table lists each outcome once, in order, with a unique key and letter; a
// lower-case letter means that nothing was lost.
func TestOutcomes(t *testing.T) {
	keys, letters := map[string]bool{}, map[string]bool{}
	for i, o := range Outcomes {
		if int(o) != i+1 || keys[o.Key()] || letters[o.Letter()] || o.Words() == "" || o.About() == "" {
			t.Errorf("%d is %d: %s, %s", i, o, o.Key(), o.Letter())
		}
		keys[o.Key()], letters[o.Letter()] = true, true
		if o.Kept() != (o <= NeedsCheck) || o.Kept() == (strings.ToUpper(o.Letter()) == o.Letter() && o != Whole) || o.Kept() && o.Silent() {
			t.Errorf("%s: kept %v, silent %v, letter %s", o.Key(), o.Kept(), o.Silent(), o.Letter())
		}
		if same, ok := OutcomeOf(o.Key()); !ok || same != o {
			t.Errorf("%s is found as %v", o.Key(), same)
		}
	}
	if o, ok := OutcomeOf("eaten"); ok || o.Kept() || o.Silent() || o.Letter() != "?" || o.About() == "" {
		t.Errorf("an unknown key is outcome %v", o)
	}
}
