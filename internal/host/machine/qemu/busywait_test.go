package qemu

import (
	"bytes"
	"slices"
	"testing"
)

func TestWithoutPause(t *testing.T) {
	loop := slices.Concat([]byte("before"), clockRead, []byte{0x48, 0x09, 0xd0, 0x74, 0x57}, pauseLoop, []byte("after"))
	far := slices.Concat(clockRead, make([]byte, loopBytes), pauseLoop)
	got, ok := withoutPause(slices.Concat(far, loop, far))
	want := slices.Concat(far, bytes.Replace(loop, pauseLoop[:2], noPause, 1), far)
	if !ok || !bytes.Equal(got, want) {
		t.Errorf("%v: % x", ok, got)
	}
	for name, image := range map[string][]byte{
		"none": []byte("another processor's"), "far from the clock": far, "two": slices.Concat(loop, loop), "empty": nil,
	} {
		if _, ok := withoutPause(image); ok {
			t.Errorf("%s: changed", name)
		}
	}
}
