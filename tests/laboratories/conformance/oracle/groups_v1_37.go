//go:build !v1_34 && !v1_35 && !v1_36

package main

import (
	"context"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	kubefwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"mooring.dev/conformance/fwk"
)

// knowGroup tells the scheduler of a group; whether it is one.
func (g *grouper) knowGroup(object apiruntime.Object) bool {
	group, is := object.(*schedulingv1beta1.PodGroup)
	if is {
		g.sched.Cache.AddPodGroup(group)
		g.sched.SchedulingQueue.AddPodGroup(klog.FromContext(g.ctx), group)
	}
	return is
}

func (g *grouper) popPod(logger klog.Logger) (*framework.QueuedPodInfo, error) {
	entity, err := g.sched.SchedulingQueue.Pop(logger)
	if err != nil {
		return nil, err
	}
	return entity.(*framework.QueuedPodInfo), nil
}

func (g *grouper) giveBack(logger klog.Logger, pod *framework.QueuedPodInfo) error {
	queue := g.sched.SchedulingQueue
	return queue.AddUnschedulablePodIfNotPresent(logger, pod, queue.SchedulingCycle())
}

// watchNext notes which group is taken next, with its pods in their order.
func (g *grouper) watchNext() {
	pop := g.sched.SchedulingQueue.Pop
	g.sched.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := pop(logger)
		if group, is := entity.(*framework.QueuedPodGroupInfo); is {
			g.now.Group = group.Namespace + "/" + group.Name
			group.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
				g.now.Order = append(g.now.Order, info.Pod.Name)
				g.join(info.Pod)
				return true
			})
		}
		return entity, err
	}
}

// trying is the placement in which a pod is tried now: PlacementFeasible has been asked about it.
func (g *grouper) trying(fwk.CycleState) *tried {
	return g.attempt().last()
}

func (w watched) RunPlacementFeasiblePlugins(
	ctx context.Context, state kubefwk.PlacementCycleState, group kubefwk.PodGroupInfo, progress framework.PlacementProgress,
) *kubefwk.Status {
	status := w.Framework.RunPlacementFeasiblePlugins(ctx, state, group, progress)
	a := w.g.attempt()
	if len(a.Tried) == 0 || a.last().state != state {
		a.next().state = state
	}
	a.last().Said = sayOf(status)
	return status
}

func (w watched) RunPlacementScorePlugins(
	ctx context.Context, state kubefwk.PodGroupCycleState, group kubefwk.PodGroupInfo, found []*kubefwk.PodGroupAssignments,
	states []kubefwk.PlacementCycleState,
) ([]kubefwk.PlacementPluginScores, *kubefwk.Status) {
	scores, status := w.Framework.RunPlacementScorePlugins(ctx, state, group, found, states)
	a := w.g.attempt()
	a.Scored, a.ranking = sayOf(status), scores
	return scores, status
}

func (w watched) RunPodGroupPostFilterPlugins(
	ctx context.Context, state *framework.CycleState, group kubefwk.PodGroupInfo, again kubefwk.PodGroupSchedulingFunc,
) (*kubefwk.PodGroupPostFilterResult, *kubefwk.Status) {
	result, status := w.Framework.RunPodGroupPostFilterPlugins(ctx, state, group,
		func(ctx context.Context) (*kubefwk.PodGroupAssignments, *kubefwk.Status) {
			w.g.now.Attempts = append(w.g.now.Attempts, newAttempt())
			return again(ctx)
		})
	w.g.now.Room = sayOf(status)
	return result, status
}
