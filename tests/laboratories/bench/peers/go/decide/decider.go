package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// cycles is a queue that nothing is taken from: it counts the pods that are placed, as the queue counts those it hands out.
type cycles struct {
	internalqueue.SchedulingQueue
	count int64
}

func (c *cycles) SchedulingCycle() int64 { return c.count }

// decider is a whole kube-scheduler whose informers have what the cluster is told.
type decider struct {
	ctx       context.Context
	preempts  bool
	cluster   *cluster
	sched     *scheduler.Scheduler
	cycles    *cycles
	framework framework.Framework
	snapshot  *internalcache.Snapshot
	devices   *dynamicresources.DynamicResources
}

// placement is a pod with a node, not yet bound.
type placement struct {
	pod   *v1.Pod
	state fwk.CycleState
}

func newDecider(ctx context.Context, chosen settings) (*decider, error) {
	profiles, err := profilesOf(chosen)
	if err != nil {
		return nil, err
	}
	if err := endVictimsInTheCycle(); err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	d := &decider{ctx: ctx, preempts: chosen.preempts, cluster: newCluster(factory)}
	d.cluster.serveClaims(client)
	var recorder profile.RecorderFactory = func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	options := []scheduler.Option{scheduler.WithPercentageOfNodesToScore(&chosen.percentage), scheduler.WithProfiles(profiles...)}
	if d.sched, err = scheduler.New(ctx, client, factory, nil, recorder, options...); err != nil {
		return nil, err
	}
	d.cycles = &cycles{SchedulingQueue: d.sched.SchedulingQueue}
	d.sched.SchedulingQueue = d.cycles
	d.framework = d.sched.Profiles[v1.DefaultSchedulerName]
	var ok bool
	if d.snapshot, ok = d.framework.SnapshotSharedLister().(*internalcache.Snapshot); !ok {
		return nil, fmt.Errorf("the plugins' snapshot is a %T", d.framework.SnapshotSharedLister())
	}
	// The framework hands out no other list of plugins that has these two.
	for _, plugin := range d.framework.PreEnqueuePlugins() {
		switch plugin := plugin.(type) {
		case *dynamicresources.DynamicResources:
			d.devices = plugin
		case *defaultpreemption.DefaultPreemption:
			plugin.Executor.PreemptPod = d.cluster.endVictim
		}
	}
	return d, nil
}

// profilesOf gives the default profile, changed as little as is chosen. Whoever looks at every node does so for victims too.
func profilesOf(chosen settings) ([]config.KubeSchedulerProfile, error) {
	loaded, err := latest.Default()
	if err != nil {
		return nil, err
	}
	for _, plugin := range loaded.Profiles[0].PluginConfig {
		switch args := plugin.Args.(type) {
		case *config.PodTopologySpreadArgs:
			if chosen.noSpread {
				args.DefaultingType, args.DefaultConstraints = config.ListDefaulting, nil
			}
		case *config.DefaultPreemptionArgs:
			if chosen.percentage == 100 {
				args.MinCandidateNodesPercentage = 100
			}
		}
	}
	return loaded.Profiles, nil
}

func (d *decider) answer(asked *question) (*answer, error) {
	for _, raw := range asked.Objects {
		object, err := parse(raw)
		if err != nil {
			return nil, err
		}
		if err := d.cluster.put(object); err != nil {
			return nil, err
		}
	}
	pods := make([]*framework.QueuedPodInfo, len(asked.Pods))
	for i, raw := range asked.Pods {
		var err error
		if pods[i], err = d.pending(raw); err != nil {
			return nil, err
		}
	}
	placed := make([]*placement, 0, len(pods))
	var unfit *framework.FitError
	began := time.Now()
	for _, pod := range pods {
		if found, err := d.place(pod); err == nil {
			placed = append(placed, found)
		} else if !errors.As(err, &unfit) {
			return nil, fmt.Errorf("pod %s: %w", klog.KObj(pod.Pod), err)
		}
	}
	said := &answer{Seconds: time.Since(began).Seconds(), Placed: len(placed)}
	if unfit != nil {
		said.Refusal = unfit.Error()
	}
	return said, d.allocate(placed)
}

// pending makes a pod known, and gives it as the queue does.
func (d *decider) pending(raw []byte) (*framework.QueuedPodInfo, error) {
	object, err := parse(raw)
	if err != nil {
		return nil, err
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return nil, fmt.Errorf("want a Pod, got %T", object)
	}
	if err := d.cluster.put(pod); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	return &framework.QueuedPodInfo{PodInfo: info, PodSignature: d.framework.SignPod(d.ctx, pod)}, nil
}

// place is a scheduling cycle: a node is found, the pod counted there, and reserved what it needs there.
func (d *decider) place(pod *framework.QueuedPodInfo) (*placement, error) {
	logger := klog.FromContext(d.ctx)
	d.cycles.count++
	if err := d.sched.Cache.UpdateSnapshot(logger, d.snapshot); err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	node, err := d.find(state, pod)
	if err != nil {
		return nil, err
	}
	assumed := pod.DeepCopy().Pod
	assumed.Spec.NodeName = node
	if err := d.sched.Cache.AssumePod(logger, assumed); err != nil {
		return nil, err
	}
	status := d.framework.RunReservePluginsReserve(d.ctx, state, assumed, node)
	return &placement{pod: assumed, state: state}, status.AsError()
}

// find gives a node that takes the pod, or on which preemption has made room for it.
func (d *decider) find(state fwk.CycleState, pod *framework.QueuedPodInfo) (string, error) {
	result, err := d.sched.SchedulePod(d.ctx, d.framework, state, pod)
	var unfit *framework.FitError
	if !d.preempts || !errors.As(err, &unfit) {
		return result.SuggestedHost, err
	}
	nominated, status := d.framework.RunPostFilterPlugins(d.ctx, state, pod.Pod, unfit.Diagnosis.NodeToStatus)
	if !status.IsSuccess() {
		unfit.Diagnosis.PostFilterMsg = status.Message()
		return "", unfit
	}
	return nominated.NominatedNodeName, nil
}

// allocate writes the claims of pods whose devices are reserved, as kube-scheduler does beside its cycles: their devices
// are then those of allocated claims, and in flight are no more than one question has pods.
func (d *decider) allocate(placed []*placement) error {
	for _, found := range placed {
		if status := d.devices.PreBind(d.ctx, found.state, found.pod, found.pod.Spec.NodeName); !status.IsSuccess() {
			return fmt.Errorf("pod %s: %w", klog.KObj(found.pod), status.AsError())
		}
	}
	return nil
}
