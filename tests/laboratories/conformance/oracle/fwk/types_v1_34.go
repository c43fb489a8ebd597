//go:build v1_34

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
	Handle           = framework.Handle
	NodeInfo         = fwk.NodeInfo
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
	Status           = fwk.Status
)

const (
	ModeOverride                 = framework.ModeOverride
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

func SkippedScores(state *framework.CycleState) sets.Set[string] {
	return state.GetSkipScorePlugins()
}
