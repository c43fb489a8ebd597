package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	testingclock "k8s.io/utils/clock/testing"
	oracle "mooring.dev/conformance/fwk"
)

const profile = "default-scheduler"

// step is one thing that happens to the queue.
type step struct {
	Do string `json:"do"`
	// Pod is what is added, or what it is after an update.
	Pod *pod `json:"pod"`
	// Name is that of the pod that is deleted or forced, or of the group.
	Name string `json:"name"`
	// Plugins and Pending are who refused the pod that is given back.
	Plugins []string `json:"plugins"`
	Pending []string `json:"pending"`
	// Event is what happened to a node, or how a group's attempt ended.
	Event string `json:"event"`
	// N is the node's number, by which hints answer; which of the pods in flight is given back or done; or the group's
	// priority.
	N int `json:"n"`
	// Ticks are 512ths of a second that go by.
	Ticks int64 `json:"ticks"`
}

type pod struct {
	Name     string            `json:"name"`
	N        int               `json:"n"`
	Priority int32             `json:"priority"`
	Gates    []string          `json:"gates"`
	Labels   map[string]string `json:"labels"`
	Group    string            `json:"group"`
}

// seen is what a step led to.
type seen struct {
	Popped string           `json:"popped"`
	Pods   map[string]place `json:"pods"`
	Groups map[string]place `json:"groups,omitempty"`
}

type place struct {
	Queue     string   `json:"queue"`
	Gate      string   `json:"gate"`
	Attempts  int      `json:"attempts"`
	Refused   int      `json:"refused"`
	Errors    int      `json:"errors"`
	Rejectors []string `json:"rejectors"`
	Flushed   bool     `json:"flushed"`
}

type player struct {
	queue   *queue.PriorityQueue
	clock   *testingclock.FakeClock
	pods    map[string]*v1.Pod
	flight  []*framework.QueuedPodInfo
	groups  groups
	version int
	locked  bool
}

func newPlayer(ctx context.Context) *player {
	p := &player{
		clock:  testingclock.NewFakeClock(time.Unix(1_700_000_000, 0)),
		pods:   map[string]*v1.Pod{},
		groups: newGroups(),
	}
	sorter := &queuesort.PrioritySort{}
	p.queue = queue.NewTestQueue(ctx, sorter.Less,
		queue.WithClock(p.clock),
		queue.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{profile: {
			"Gates": gates{},
			"Lock":  lock{p},
		}}),
		queue.WithQueueingHintMapPerProfile(queue.QueueingHintMapPerProfile{profile: hints()}),
	)
	return p
}

// gates is SchedulingGates by another name.
type gates struct{}

func (gates) Name() string { return "Gates" }

func (gates) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if len(pod.Spec.SchedulingGates) == 0 {
		return nil
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "gated")
}

// lock holds back the pods with an odd number while it is locked. Pods that have gates are left to these: which of
// two plugins is asked first is random in the real queue.
type lock struct{ player *player }

func (lock) Name() string { return "Lock" }

func (l lock) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if l.player.locked && number(pod)%2 == 1 && len(pod.Spec.SchedulingGates) == 0 {
		return fwk.NewStatus(fwk.Unschedulable, "locked")
	}
	return nil
}

var events = map[string]fwk.ClusterEvent{
	"node-added":      {Resource: fwk.Node, ActionType: fwk.Add},
	"node-label":      {Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
	"node-taint":      {Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint},
	"pod-left":        framework.EventAssignedPodDelete,
	"pod-came":        framework.EventAssignedPodAdd,
	"claim-added":     {Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add},
	"class-added":     {Resource: fwk.StorageClass, ActionType: fwk.Add},
	"assigned-labels": {Resource: framework.EventAssignedPodAdd.Resource, ActionType: fwk.UpdatePodLabel},
}

// hints are the events of four plugins that refuse pods and of the two gates.
func hints() queue.QueueingHintMap {
	registered := []struct {
		plugin string
		number int
		event  fwk.ClusterEvent
	}{
		{"Fit", 1, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeTaint}},
		{"Fit", 1, fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.UpdatePodScaleDown}},
		{"Affinity", 2, fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Add | fwk.UpdatePodLabel}},
		{"Affinity", 2, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint}},
		{"Volumes", 3, fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add | fwk.Update}},
		{"Any", 4, fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.All}},
		{"Any", 4, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.All}},
		{"Gates", 5, fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodSchedulingGatesEliminated}},
		{"Lock", 6, fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}},
	}
	found := queue.QueueingHintMap{}
	for _, entry := range registered {
		found[entry.event] = append(found[entry.event], &queue.QueueingHintFunction{
			PluginName:     entry.plugin,
			QueueingHintFn: hint(entry.number),
		})
	}
	return found
}

// hint answers by numbers alone, so that another program can say the same.
func hint(plugin int) fwk.QueueingHintFn {
	return func(_ klog.Logger, pod *v1.Pod, _, newObj interface{}) (fwk.QueueingHint, error) {
		happened := 0
		if node, ok := newObj.(*v1.Node); ok {
			fmt.Sscanf(node.Name, "node-%d", &happened)
		}
		switch (number(pod)*7 + happened*5 + plugin*3) % 5 {
		case 0, 1:
			return fwk.QueueSkip, nil
		case 2:
			return fwk.Queue, fmt.Errorf("no idea")
		}
		return fwk.Queue, nil
	}
}

func number(pod *v1.Pod) int {
	var n int
	fmt.Sscanf(pod.Annotations["n"], "%d", &n)
	return n
}

func (p *player) play(next step) seen {
	ctx := context.Background()
	logger := klog.FromContext(ctx)
	popped := ""
	switch next.Do {
	case "add":
		p.pods[next.Pod.Name] = p.object(next.Pod)
		p.queue.Add(ctx, p.pods[next.Pod.Name])
	case "update":
		if old, ok := p.pods[next.Pod.Name]; ok {
			p.pods[next.Pod.Name] = p.object(next.Pod)
			p.queue.Update(ctx, old, p.pods[next.Pod.Name])
		}
	case "delete":
		if pod, ok := p.pods[next.Name]; ok {
			oracle.Remove(logger, p.queue, pod)
			delete(p.pods, next.Name)
		}
	case "pop":
		if canPop(p.queue) {
			popped = p.pop(logger)
		}
	case "give-back":
		p.giveBack(logger, next)
	case "done":
		if info := p.landed(next.N); info != nil {
			delete(p.pods, info.Pod.Name)
			p.queue.Done(info.Pod.UID)
		}
	case "force":
		if pod, ok := p.pods[next.Name]; ok {
			p.queue.Activate(logger, map[string]*v1.Pod{next.Name: pod})
		}
	case "move":
		p.move(logger, next)
	case "set-lock":
		p.locked = next.N == 1
	case "flush":
		flushBackoff(p.queue, logger)
		flushUnschedulable(p.queue, logger)
	default:
		p.playGroup(logger, next)
	}
	p.clock.Step(time.Duration(next.Ticks) * time.Second / 512)
	return seen{Popped: popped, Pods: p.places(), Groups: p.groupPlaces()}
}

// landed takes one of the pods in flight, in the order in which they were popped.
func (p *player) landed(n int) *framework.QueuedPodInfo {
	var landing []int
	for at, info := range p.flight {
		if p.lands(info) {
			landing = append(landing, at)
		}
	}
	if len(landing) == 0 {
		return nil
	}
	n = landing[n%len(landing)]
	info := p.flight[n]
	p.flight = append(p.flight[:n:n], p.flight[n+1:]...)
	return info
}

// giveBack does what handleSchedulingFailure does with the queue.
func (p *player) giveBack(logger klog.Logger, next step) {
	info := p.landed(next.N)
	if info == nil {
		return
	}
	pod, ok := p.pods[info.Pod.Name]
	if !ok {
		p.queue.Done(info.Pod.UID)
		return
	}
	info.ClearRejectorPlugins()
	info.UnschedulablePlugins = sets.New(next.Plugins...)
	info.PendingPlugins = sets.New(next.Pending...)
	info.PodInfo, _ = framework.NewPodInfo(pod.DeepCopy())
	if err := oracle.GiveBack(logger, p.queue, info); err != nil {
		panic(err)
	}
}

func (p *player) move(logger klog.Logger, next step) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", next.N)}}
	var check queue.PreEnqueueCheck
	if len(next.Plugins) == 1 && next.Plugins[0] == "even" {
		check = func(pod *v1.Pod) bool { return number(pod)%2 == 0 }
	}
	event, ok := events[next.Event]
	if !ok {
		panic(next.Event)
	}
	p.queue.MoveAllToActiveOrBackoffQueue(logger, event, nil, node, check)
}

func (p *player) object(given *pod) *v1.Pod {
	p.version++
	var held []v1.PodSchedulingGate
	for _, gate := range given.Gates {
		held = append(held, v1.PodSchedulingGate{Name: gate})
	}
	object := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            given.Name,
			Namespace:       "default",
			UID:             types.UID(given.Name),
			ResourceVersion: fmt.Sprint(p.version),
			Labels:          given.Labels,
			Annotations:     map[string]string{"n": fmt.Sprint(given.N)},
		},
		Spec: v1.PodSpec{SchedulerName: profile, Priority: &given.Priority, SchedulingGates: held},
	}
	join(object, given.Group)
	return object
}

func (p *player) places() map[string]place {
	found := map[string]place{}
	queues := p.waiting()
	if queues == nil {
		queues = map[string][]*v1.Pod{}
	}
	queues["active"] = p.queue.PodsInActiveQ()
	queues["backoff"] = p.queue.PodsInBackoffQ()
	queues["unschedulable"] = p.queue.UnschedulablePods()
	for queued, pods := range queues {
		for _, pod := range pods {
			info, _ := oracle.InQueue(p.queue, pod)
			rejectors := sets.List(info.UnschedulablePlugins.Union(info.PendingPlugins))
			sort.Strings(rejectors)
			if _, twice := found[pod.Name]; twice {
				panic(strings.Join([]string{pod.Name, "is in two places"}, " "))
			}
			found[pod.Name] = place{
				Queue:     queued,
				Gate:      info.GatingPlugin,
				Attempts:  info.Attempts,
				Refused:   info.UnschedulableCount,
				Errors:    info.ConsecutiveErrorsCount,
				Rejectors: rejectors,
				Flushed:   info.WasFlushedFromUnschedulable,
			}
		}
	}
	return found
}
