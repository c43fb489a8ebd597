package main

import (
	"testing"

	"mooring.dev/go/mooring/pluginhost"
)

func TestTheRackThatThePodAsksForIsPreferred(t *testing.T) {
	pod := pluginhost.ValuesOf(map[string]any{wanted: "r1"})
	for in, expected := range map[string]int64{"r1": 100, "r2": 0} {
		node := pluginhost.ValuesOf(map[string]any{rack: in, maintenance: nil})
		if found := score(pod, node); found != expected {
			t.Errorf("score of %s: %d, not %d", in, found, expected)
		}
	}
}

func TestANodeInMaintenanceIsRejected(t *testing.T) {
	node := pluginhost.ValuesOf(map[string]any{rack: "r1", maintenance: ""})
	if no := filter(node, node); no == nil || !no.Unresolvable {
		t.Error("it is not rejected")
	}
}
