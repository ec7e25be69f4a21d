package fault

import (
	"encoding/json"
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
