package main

import "mooring.dev/go/mooring/pluginhost"

const (
	version   = "0.1.0"
	offered   = "allocatable[memory]"
	requested = "requested[memory]"
)

// plugin prefers the nodes with the largest free part of their memory.
var plugin = pluginhost.Plugin{
	Name:        "$name",
	NodeColumns: []string{offered, requested},
	New: func(_ []byte) (*pluginhost.Rule, error) {
		return &pluginhost.Rule{Score: score}, nil
	},
}

// score gives an empty node 100 points, and a full one none.
func score(_, node pluginhost.Values) int64 {
	if node.Number(offered) == 0 {
		return 0
	}
	return 100 * max(node.Number(offered)-node.Number(requested), 0) / node.Number(offered)
}
