package main

import "mooring.dev/go/mooring/pluginhost"

const (
	version     = "0.1.0"
	wanted      = "metadata.annotations[example.com/rack]"
	rack        = "metadata.labels[example.com/rack]"
	maintenance = "metadata.labels[example.com/maintenance]"
)

// plugin rejects nodes in maintenance, and prefers the rack that the pod asks for.
var plugin = pluginhost.Plugin{
	Name:        "$name",
	PodFields:   []string{wanted},
	NodeColumns: []string{rack, maintenance},
	New: func(_ []byte) (*pluginhost.Rule, error) {
		return &pluginhost.Rule{Filter: filter, Score: score}, nil
	},
}

func filter(_, node pluginhost.Values) *pluginhost.Rejection {
	if node.Has(maintenance) {
		return &pluginhost.Rejection{Reason: "node(s) were in maintenance", Unresolvable: true}
	}
	return nil
}

func score(pod, node pluginhost.Values) int64 {
	if pod.Has(wanted) && pod.Text(wanted) == node.Text(rack) {
		return 100
	}
	return 0
}
