package main

import (
	"slices"
	"strings"

	"mooring.dev/conformance/fwk"
)

// document has the fields of mooring's public JSON that follow from the scenario alone: no seed, no winner among ties.
type document struct {
	Pod       string                  `json:"pod"`
	Profile   string                  `json:"profile"`
	Status    topStatus               `json:"status"`
	PreFilter map[string]preFilter    `json:"prefilter"`
	Nodes     map[string]*nodeVerdict `json:"nodes"`
	Ties      []string                `json:"ties"`
	Evaluated int                     `json:"evaluated"`
	Feasible  int                     `json:"feasible"`
	// Preemption is not part of the public JSON: the harness asks mooring for it by itself.
	Preemption *preempted `json:"preemption"`
}

type status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

type topStatus struct {
	status
	Message string `json:"message"`
}

type preFilter struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
	Nodes   []string `json:"nodes"`
}

type nodeVerdict struct {
	Status status                 `json:"status"`
	Scores map[string]pluginScore `json:"scores"`
	Total  *int64                 `json:"total"`
}

type pluginScore struct {
	Raw        int64 `json:"raw"`
	Normalized int64 `json:"normalized"`
	Weight     int64 `json:"weight"`
	Weighted   int64 `json:"weighted"`
}

func success() status {
	return status{Code: fwk.Success.String(), Reasons: []string{}}
}

func toStatus(s *fwk.Status) status {
	if s.IsSuccess() {
		return success()
	}
	return status{Code: s.Code().String(), Plugin: s.Plugin(), Reasons: sortScalars(s.Reasons())}
}

// sortScalars brings NodeResourcesFit's reasons for scalar resources, which come in Go's random map order, into
// the order of their names. The others keep their places before them.
func sortScalars(reasons []string) []string {
	const prefix = "Insufficient "
	sorted := append([]string{}, reasons...)
	first := slices.IndexFunc(sorted, func(reason string) bool {
		name, found := strings.CutPrefix(reason, prefix)
		return found && !slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name)
	})
	if first >= 0 {
		slices.Sort(sorted[first:])
	}
	return sorted
}
