package main

import "mooring.dev/go/mooring/pluginhost"

const (
	version = "0.1.0"
	wanted  = "metadata.annotations[example.com/tier]"
	tier    = "metadata.labels[example.com/tier]"
)

// plugin keeps a pod to the nodes of the tier that it asks for.
var plugin = pluginhost.Plugin{
	Name:        "$name",
	PodFields:   []string{wanted},
	NodeColumns: []string{tier},
	New: func(_ []byte) (*pluginhost.Rule, error) {
		return &pluginhost.Rule{Filter: filter}, nil
	},
}

func filter(pod, node pluginhost.Values) *pluginhost.Rejection {
	if !pod.Has(wanted) || pod.Text(wanted) == node.Text(tier) {
		return nil
	}
	return &pluginhost.Rejection{Reason: "node(s) didn't have the tier that the pod asks for", Unresolvable: true}
}
