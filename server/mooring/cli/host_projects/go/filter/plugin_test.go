package main

import (
	"testing"

	"mooring.dev/go/mooring/pluginhost"
)

func TestAPodGoesToTheTierThatItAsksFor(t *testing.T) {
	pod := pluginhost.ValuesOf(map[string]any{wanted: "gold"})
	for in, rejected := range map[string]bool{"gold": false, "iron": true} {
		node := pluginhost.ValuesOf(map[string]any{tier: in})
		if no := filter(pod, node); (no != nil) != rejected {
			t.Errorf("%s: %v", in, no)
		}
	}
}
