//go:build !v1_34

// Package fwk is the scheduler framework as the oracle sees it, the same for each release of Kubernetes that it is built for.
//
// The framework's types moved from kube-scheduler's own package into k8s.io/kube-scheduler/framework with 1.35.
// The build tags v1_34, v1_35 and v1_36 choose an older release; without one it is the newest.
package fwk

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	CycleState       = fwk.CycleState
	Handle           = fwk.Handle
	NodeInfo         = fwk.NodeInfo
	NodeScore        = fwk.NodeScore
	NodeScoreList    = fwk.NodeScoreList
	NominatingInfo   = fwk.NominatingInfo
	Plugin           = fwk.Plugin
	PermitPlugin     = fwk.PermitPlugin
	PostFilterPlugin = fwk.PostFilterPlugin
	PreFilterPlugin  = fwk.PreFilterPlugin
	PreFilterResult  = fwk.PreFilterResult
	ScorePlugin      = fwk.ScorePlugin
	SharedDRAManager = fwk.SharedDRAManager
	Status           = fwk.Status
)

const (
	ModeOverride                 = fwk.ModeOverride
	Success                      = fwk.Success
	Unschedulable                = fwk.Unschedulable
	UnschedulableAndUnresolvable = fwk.UnschedulableAndUnresolvable
)

var NewStatus = fwk.NewStatus

func PreFilter(
	ctx context.Context, plugin PreFilterPlugin, state *framework.CycleState, pod *v1.Pod, nodes []NodeInfo,
) (*PreFilterResult, *Status) {
	return plugin.PreFilter(ctx, state, pod, nodes)
}

// SkippedScores names the plugins whose PreScore left them out.
func SkippedScores(state *framework.CycleState) sets.Set[string] {
	return state.GetSkipScorePlugins()
}
