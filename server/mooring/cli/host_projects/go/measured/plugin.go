package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"mooring.dev/go/mooring/pluginhost"
	"mooring.dev/go/mooring/pluginhostv1"
)

const (
	version  = "0.1.0"
	load     = "$name"
	measured = "measured[" + load + "]"
	file     = "load.txt"
)

// plugin prefers the nodes with the lowest load, which it reads in the background.
var plugin = pluginhost.Plugin{
	Name:         "$name",
	NodeColumns:  []string{measured},
	Normalizer:   pluginhostv1.Normalizer_NORMALIZER_BY_MAX_REVERSED,
	Measurements: []*pluginhostv1.MeasurementDescription{{Name: load, UnmeasuredAsHighest: true}},
	New: func(_ []byte) (*pluginhost.Rule, error) {
		return &pluginhost.Rule{Score: score, Measure: measure}, nil
	},
}

func score(_, node pluginhost.Values) int64 {
	return node.Number(measured)
}

func measure(_ context.Context, _ string) (map[string]int64, error) {
	text, err := os.ReadFile(file)
	return parsed(string(text)), err
}

// parsed returns the loads by node; each line has a node and its load.
func parsed(text string) map[string]int64 {
	loads := map[string]int64{}
	for line := range strings.Lines(text) {
		var node string
		var value int64
		if count, _ := fmt.Sscan(line, &node, &value); count == 2 {
			loads[node] = value
		}
	}
	return loads
}
