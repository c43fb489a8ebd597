package main

import "mooring.dev/go/mooring/pluginhost"

const (
	version = "0.1.0"
	app     = "metadata.labels[app]"
	inRack  = "counted[app by example.com/rack]"
	most    = 2
)

// plugin limits the pods of one app in each rack.
var plugin = pluginhost.Plugin{
	Name:        "$name",
	PodFields:   []string{app},
	NodeColumns: []string{inRack},
	New: func(_ []byte) (*pluginhost.Rule, error) {
		return &pluginhost.Rule{Filter: filter}, nil
	},
}

// filter does not limit pods without the label.
func filter(pod, node pluginhost.Values) *pluginhost.Rejection {
	if !pod.Has(app) || node.Number(inRack) < most {
		return nil
	}
	return &pluginhost.Rejection{Reason: "node(s) were in a rack with enough pods of the app"}
}
