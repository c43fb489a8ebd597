//go:build v1_33

package fwk

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	CycleState       = *framework.CycleState
	Handle           = framework.Handle
	NodeInfo         = *framework.NodeInfo
	NodeScore        = framework.NodeScore
	NodeScoreList    = framework.NodeScoreList
	NominatingInfo   = framework.NominatingInfo
	Plugin           = framework.Plugin
	PermitPlugin     = framework.PermitPlugin
	PostFilterPlugin = framework.PostFilterPlugin
	PreFilterPlugin  = framework.PreFilterPlugin
	PreFilterResult  = framework.PreFilterResult
	ScorePlugin      = framework.ScorePlugin
	SharedDRAManager = framework.SharedDRAManager
	Status           = framework.Status
)

const (
	ModeOverride                 = framework.ModeOverride
	Success                      = framework.Success
	Unschedulable                = framework.Unschedulable
	UnschedulableAndUnresolvable = framework.UnschedulableAndUnresolvable
)

var NewStatus = framework.NewStatus

func PreFilter(
	ctx context.Context, plugin PreFilterPlugin, state *framework.CycleState, pod *v1.Pod, _ []NodeInfo,
) (*PreFilterResult, *Status) {
	return plugin.PreFilter(ctx, state, pod)
}

func SkippedScores(state *framework.CycleState) sets.Set[string] {
	return state.SkipScorePlugins
}
