//go:build !v1_36

package main

import (
	"fmt"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	oracle "mooring.dev/conformance/fwk"
)

// groups are those that the queue was told of, and the one that is being tried.
type groups struct {
	known map[string]*schedulingv1beta1.PodGroup
	tried *framework.QueuedPodGroupInfo
}

// enableGroups says whether the queues that are made from now on know groups.
func enableGroups(on bool) {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"GenericWorkload": on}); err != nil {
		panic(err)
	}
}

// pop takes what comes next. A scheduler takes nothing more before it is done with a group.
func (p *player) pop(logger klog.Logger) string {
	if p.groups.tried != nil {
		return ""
	}
	entity, err := p.queue.Pop(logger)
	if err != nil {
		panic(err)
	}
	if group, ok := entity.(*framework.QueuedPodGroupInfo); ok {
		p.groups.tried = group
	}
	entity.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
		p.flight = append(p.flight, info)
		return true
	})
	return entity.GetName()
}

// lands tells whether a pod in flight may come back now. While a group is being tried, those of others may not: the
// real queue would take that as the end of the group's attempt.
func (p *player) lands(info *framework.QueuedPodInfo) bool {
	return p.groups.tried == nil || groupOf(info.Pod) == p.groups.tried.Name
}

func (p *player) playGroup(logger klog.Logger, next step) {
	known := p.groups.known[next.Name]
	switch next.Do {
	case "add-group":
		if known == nil {
			p.alignIncomplete(logger, next.Name)
			p.groups.known[next.Name] = group(next)
			p.queue.AddPodGroup(logger, p.groups.known[next.Name])
		}
	case "update-group":
		if known != nil {
			p.queue.UpdatePodGroup(logger, known)
		}
	case "delete-group":
		if known != nil {
			delete(p.groups.known, next.Name)
			p.queue.DeletePodGroup(logger, known)
		}
	case "end-group":
		if p.groups.tried != nil {
			p.endGroup(logger, next.Event)
		}
	default:
		panic(next.Do)
	}
}

func (p *player) endGroup(logger klog.Logger, how string) {
	status := map[string]*fwk.Status{
		"scheduled":     fwk.NewStatus(fwk.Success),
		"unschedulable": fwk.NewStatus(fwk.Unschedulable),
		"error":         fwk.AsStatus(fmt.Errorf("failed")),
	}[how]
	err := p.queue.AddAttemptedPodGroupIfNeeded(logger, p.groups.tried, p.queue.SchedulingCycle(), status)
	if err != nil {
		panic(err)
	}
	p.groups.tried = nil
}

// alignIncomplete makes it irrelevant in which order the pods that wait for a group are added to it, which is random in
// the real queue: they get one time, since a group's time is that of its first pod; and where a gate may hold one back,
// which is asked about those that come before the group is gated, one alone stays.
func (p *player) alignIncomplete(logger klog.Logger, name string) {
	var pods []*v1.Pod
	gated := p.locked
	for _, pod := range p.queue.IncompletePodGroupPodsPods() {
		if groupOf(pod) == name {
			pods = append(pods, pod)
			gated = gated || len(pod.Spec.SchedulingGates) > 0
		}
	}
	sort.Slice(pods, func(i, j int) bool { return pods[i].Name < pods[j].Name })
	var first time.Time
	for at, pod := range pods {
		if gated && at > 0 {
			oracle.Remove(logger, p.queue, pod)
			delete(p.pods, pod.Name)
			continue
		}
		info, _ := oracle.InQueue(p.queue, pod)
		if at == 0 {
			first = info.Timestamp
		}
		info.Timestamp = first
	}
}

func group(next step) *schedulingv1beta1.PodGroup {
	priority := int32(next.N)
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: next.Name, Namespace: "default", UID: types.UID(next.Name)},
		Spec:       schedulingv1beta1.PodGroupSpec{Priority: &priority},
	}
}

// join puts a pod into the group that it names.
func join(pod *v1.Pod, name string) {
	if name != "" {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	}
}

func groupOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup == nil {
		return ""
	}
	return *pod.Spec.SchedulingGroup.PodGroupName
}

// waiting are the pods that wait for their group.
func (p *player) waiting() map[string][]*v1.Pod {
	return map[string][]*v1.Pod{
		"incomplete": p.queue.IncompletePodGroupPodsPods(),
		"pending":    p.queue.PendingPodGroupPods(),
	}
}

// groupPlaces are what the queue knows of groups, beside what it knows of their pods.
func (p *player) groupPlaces() map[string]place {
	found := map[string]place{}
	for name := range p.groups.known {
		info, ok := p.queue.GetPodGroup(name, "default", fwk.PodGroupKeyType)
		if !ok {
			continue
		}
		found[name] = place{
			Gate:      info.GatingPlugin,
			Attempts:  info.Attempts,
			Refused:   info.UnschedulableCount,
			Errors:    info.ConsecutiveErrorsCount,
			Rejectors: []string{},
			Flushed:   info.WasFlushedFromUnschedulable,
		}
	}
	return found
}

func newGroups() groups {
	return groups{known: map[string]*schedulingv1beta1.PodGroup{}}
}
