// Command rules serves the rules of tests/plugin_hosts/rules.py, as a host in Go: rules unix:PATH. Built for wasip1 it is a guest.
package main

import (
	"strconv"
	"strings"

	"mooring.dev/go/mooring/pluginhost"
	"mooring.dev/go/mooring/pluginhostv1"
)

const (
	zone     = "topology.kubernetes.io/zone"
	gpu      = "metadata.labels[gpu]"
	ofZone   = "metadata.labels[" + zone + "]"
	app      = "metadata.labels[app]"
	inZone   = "counted[app by " + zone + "]"
	uses     = "metadata.labels[version]"
	weight   = "metadata.labels[weight]"
	onHost   = "counted[version by kubernetes.io/hostname]"
	load     = "measured[load]"
	offered  = "allocatable[memory]"
	required = "requested[memory]"
)

type values = pluginhost.Values

func always(rule pluginhost.Rule) func([]byte) (*pluginhost.Rule, error) {
	return func([]byte) (*pluginhost.Rule, error) { return &rule, nil }
}

func maintained(reason pluginhost.Rejection) func(pod, node values) *pluginhost.Rejection {
	return func(_, node values) *pluginhost.Rejection {
		if node.Text(gpu) != "" {
			return &reason
		}
		return nil
	}
}

func left(node values) int64 {
	own := int64(2)
	if node.Has(weight) {
		own, _ = strconv.ParseInt(node.Text(weight), 10, 64)
	}
	return own - node.Number(onHost)
}

func underlay(pod, node values) *pluginhost.Rejection {
	switch {
	case !pod.Has(uses) || pod.Text("spec.hostNetwork") == "true":
		return nil
	case node.Has(gpu):
		return &pluginhost.Rejection{Reason: "node(s) were masters", Unresolvable: true}
	case left(node) > 0:
		return nil
	}
	return &pluginhost.Rejection{Reason: "no free underlay IP"}
}

func requests(pod, node values) *pluginhost.Rejection {
	priority := pod.Number("spec.priority")
	if node.Text("spec.taints") != "[]" && priority == 0 {
		return &pluginhost.Rejection{Reason: "tainted"}
	}
	if strings.HasSuffix(node.Text("metadata.name"), "3") && priority > 5 {
		return &pluginhost.Rejection{Reason: "odd", Unresolvable: true}
	}
	return nil
}

func plugins() []pluginhost.Plugin {
	return []pluginhost.Plugin{
		{Name: "FilterLabel", NodeColumns: []string{gpu}, New: always(pluginhost.Rule{
			Filter: maintained(pluginhost.Rejection{Reason: "node(s) in maintenance"}),
		})},
		{Name: "ScoreFree", NodeColumns: []string{offered, required}, New: always(pluginhost.Rule{
			Score: func(_, node values) int64 {
				has := max(node.Number(offered), 1)
				return 100 * max(has-node.Number(required), 0) / has
			},
		})},
		{Name: "Rack", PodFields: []string{app}, NodeColumns: []string{gpu, ofZone}, New: always(pluginhost.Rule{
			Filter: maintained(pluginhost.Rejection{Reason: "node(s) in maintenance", Unresolvable: true}),
			Score: func(pod, node values) int64 {
				if wanted := pod.Text(app); wanted != "" && node.Text(ofZone) == wanted {
					return 100
				}
				return 0
			},
		})},
		{Name: "CountPerRack", NodeColumns: []string{inZone}, New: always(pluginhost.Rule{
			Filter: func(_, node values) *pluginhost.Rejection {
				if node.Number(inZone) >= 4 {
					return &pluginhost.Rejection{Reason: "rack(s) had enough pods of the app"}
				}
				return nil
			},
		})},
		{
			Name: "UnderlayLike", PodFields: []string{uses, "spec.hostNetwork"}, NodeColumns: []string{gpu, weight, onHost},
			Normalizer: pluginhostv1.Normalizer_NORMALIZER_BY_MAX,
			New: always(pluginhost.Rule{
				Filter: underlay,
				Score:  func(_, node values) int64 { return max(left(node), 0) },
			}),
		},
		{
			Name: "Traffic", NodeColumns: []string{load}, Normalizer: pluginhostv1.Normalizer_NORMALIZER_BY_MAX_REVERSED,
			New: always(pluginhost.Rule{Score: func(_, node values) int64 { return node.Number(load) }}),
		},
		{
			Name: "Requests", PodFields: []string{"spec.priority", "requests[cpu]"},
			NodeColumns: []string{"spec.taints", "metadata.name"}, New: always(pluginhost.Rule{Filter: requests}),
		},
	}
}
