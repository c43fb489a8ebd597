package main

import (
	"testing"

	"mooring.dev/go/mooring/pluginhost"
)

func TestTheEmptierNodeHasMorePoints(t *testing.T) {
	for used, expected := range map[int]int64{0: 100, 2: 75, 9: 0} {
		node := pluginhost.ValuesOf(map[string]any{offered: 8, requested: used})
		if found := score(node, node); found != expected {
			t.Errorf("score with %d of 8: %d, not %d", used, found, expected)
		}
	}
}
