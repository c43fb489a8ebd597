package main

import (
	"testing"

	"mooring.dev/go/mooring/pluginhost"
)

func TestARackWithEnoughPodsIsRejected(t *testing.T) {
	pod := pluginhost.ValuesOf(map[string]any{app: "web"})
	for there, rejected := range map[int]bool{1: false, 2: true} {
		node := pluginhost.ValuesOf(map[string]any{inRack: there})
		if no := filter(pod, node); (no != nil) != rejected {
			t.Errorf("%d pods: %v", there, no)
		}
	}
}
