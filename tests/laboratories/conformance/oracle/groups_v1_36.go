//go:build v1_36

package main

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	kubefwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"mooring.dev/conformance/fwk"
)

// knowGroup tells the scheduler of a group; whether it is one.
func (g *grouper) knowGroup(object apiruntime.Object) bool {
	group, is := object.(*schedulingv1alpha2.PodGroup)
	if is {
		event := kubefwk.ClusterEvent{Resource: kubefwk.PodGroup, ActionType: kubefwk.Add}
		g.sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(klog.FromContext(g.ctx), event, nil, group, nil)
	}
	return is
}

// heardOfPod tells the other pods of its group, which wait alone in the queue.
func (g *grouper) heardOfPod(pod *v1.Pod) {
	if fwk.GangScheduling() {
		g.sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(
			klog.FromContext(g.ctx), framework.EventUnscheduledPodAdd, nil, pod, nil)
	}
}

func (g *grouper) popPod(logger klog.Logger) (*framework.QueuedPodInfo, error) {
	return g.sched.SchedulingQueue.Pop(logger)
}

func (g *grouper) giveBack(logger klog.Logger, pod *framework.QueuedPodInfo) error {
	queue := g.sched.SchedulingQueue
	return queue.AddUnschedulableIfNotPresent(logger, pod, queue.SchedulingCycle())
}

// watchedQueue notes which pods are taken with the one that was popped.
type watchedQueue struct {
	internalqueue.SchedulingQueue
	g *grouper
}

func (q watchedQueue) PopSpecificPod(logger klog.Logger, pod *v1.Pod) *framework.QueuedPodInfo {
	info := q.SchedulingQueue.PopSpecificPod(logger, pod)
	if info != nil {
		q.g.join(info.Pod)
	}
	return info
}

// watchNext notes the group of the pod that is taken next.
func (g *grouper) watchNext() {
	if _, is := g.sched.SchedulingQueue.(watchedQueue); !is {
		g.sched.SchedulingQueue = watchedQueue{g.sched.SchedulingQueue, g}
	}
	pop := g.sched.SchedulingQueue.Pop
	g.sched.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		info, err := pop(logger)
		if err == nil && info.Pod.Spec.SchedulingGroup != nil {
			g.now.Group = info.Pod.Namespace + "/" + *info.Pod.Spec.SchedulingGroup.PodGroupName
			g.join(info.Pod)
		}
		return info, err
	}
}

// trying is the placement in which a pod is tried now: each is given all pods of the group.
func (g *grouper) trying(fwk.CycleState) *tried {
	a := g.attempt()
	if len(a.Tried) == 0 || len(a.last().Pods) == len(g.left) {
		a.next()
	}
	return a.last()
}

func (w watched) RunPostFilterPlugins(
	ctx context.Context, state kubefwk.CycleState, pod *v1.Pod, found kubefwk.NodeToStatusReader,
) (*kubefwk.PostFilterResult, *kubefwk.Status) {
	result, status := w.Framework.RunPostFilterPlugins(ctx, state, pod, found)
	tries := w.g.attempt().last().Pods
	try := tries[len(tries)-1]
	if result != nil && result.NominatingInfo != nil {
		try.Nominated = result.NominatedNodeName
	}
	if said := status.Message(); said != "" {
		try.Message += " " + said
	}
	return result, status
}

func (w watched) RunPlacementScorePlugins(
	ctx context.Context, state kubefwk.PodGroupCycleState, group kubefwk.PodGroupInfo, found []*kubefwk.PodGroupAssignments,
) ([]kubefwk.PlacementPluginScores, *kubefwk.Status) {
	scores, status := w.Framework.RunPlacementScorePlugins(ctx, state, group, found)
	a := w.g.attempt()
	a.Scored, a.ranking = sayOf(status), scores
	return scores, status
}

func (w watched) PodGroupPostFilterPlugins() []framework.PodGroupPostFilterPlugin {
	plugins := slices.Clone(w.Framework.PodGroupPostFilterPlugins())
	for i, plugin := range plugins {
		plugins[i] = watchedPostFilter{plugin, w.g}
	}
	return plugins
}

// watchedPostFilter notes each attempt to schedule the group once more.
type watchedPostFilter struct {
	framework.PodGroupPostFilterPlugin
	g *grouper
}

func (p watchedPostFilter) PodGroupPostFilter(
	ctx context.Context, group *schedulingv1alpha2.PodGroup, pods []*v1.Pod, again func(context.Context) *kubefwk.Status,
) *kubefwk.Status {
	status := p.PodGroupPostFilterPlugin.PodGroupPostFilter(ctx, group, pods, func(ctx context.Context) *kubefwk.Status {
		p.g.now.Attempts = append(p.g.now.Attempts, newAttempt())
		return again(ctx)
	})
	p.g.now.Room = sayOf(status)
	return status
}
