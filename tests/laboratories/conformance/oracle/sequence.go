package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"mooring.dev/conformance/fwk"
)

// rawStep is a pod to be scheduled, or a node that comes or goes.
type rawStep struct {
	Pod        json.RawMessage `json:"pod"`
	AddNode    json.RawMessage `json:"add_node"`
	RemoveNode string          `json:"remove_node"`
}

// decided is what became of a pod. Nodes are those that were scored, Message is what the pod's condition says, Event the
// note of its FailedScheduling event. Nominated is the nomination that a pod without a host is left with.
type decided struct {
	Host      string   `json:"host"`
	Evaluated int      `json:"evaluated"`
	Feasible  int      `json:"feasible"`
	Nodes     []string `json:"nodes"`
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Event     string   `json:"event"`
	Nominated string   `json:"nominated"`
}

// sequencer runs a whole kube-scheduler, but for its informers and its queue's order. One worker looks at the nodes, so that
// nothing depends on which of several is faster.
type sequencer struct {
	ctx      context.Context
	cluster  *cluster
	sched    *scheduler.Scheduler
	recorder *events.FakeRecorder
	bound    atomic.Int32
	failures atomic.Int32
	nodes    map[string]*v1.Node
	now      *decided
}

func runSequence(s *scenario) ([]*decided, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, err := loadConfig(s.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	q, err := newSequencer(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	var answers []*decided
	for i, step := range s.Steps {
		answer, err := q.take(step)
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func newSequencer(ctx context.Context, cfg *config.KubeSchedulerConfiguration, s *scenario) (*sequencer, error) {
	client := fake.NewSimpleClientset()
	q := &sequencer{
		ctx: ctx, recorder: events.NewFakeRecorder(100), nodes: map[string]*v1.Node{},
		cluster: &cluster{client: client, factory: informers.NewSharedInformerFactory(client, 0)},
	}
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		q.bound.Add(1)
		return true, nil, nil
	})
	var err error
	q.sched, err = scheduler.New(ctx, client, q.cluster.factory, nil,
		func(string) fwk.EventRecorder { return q.recorder },
		scheduler.WithProfiles(withOnlooker(cfg.Profiles)...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(1),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{onlookerName: q.newOnlooker}),
	)
	if err != nil {
		return nil, err
	}
	q.listen()
	return q, q.fill(s)
}

// listen notes what the scheduler finds and says.
func (q *sequencer) listen() {
	schedule, fail := q.sched.SchedulePod, q.sched.FailureHandler
	q.sched.SchedulePod = func(
		ctx context.Context, f framework.Framework, state fwk.CycleState, subject fwk.Subject,
	) (scheduler.ScheduleResult, error) {
		result, err := schedule(ctx, f, state, subject)
		q.now.Host, q.now.Evaluated, q.now.Feasible = result.SuggestedHost, result.EvaluatedNodes, result.FeasibleNodes
		return result, err
	}
	q.sched.FailureHandler = func(
		ctx context.Context, f framework.Framework, pod *framework.QueuedPodInfo, s *fwk.Status, nominating *fwk.NominatingInfo,
		start time.Time,
	) {
		q.now.Code, q.now.Message = s.Code().String(), s.Message()
		q.now.Nominated = pod.Pod.Status.NominatedNodeName
		if nominating != nil && nominating.NominatingMode == fwk.ModeOverride {
			q.now.Nominated = nominating.NominatedNodeName
		}
		fail(ctx, f, pod, s, nominating, start)
		q.failures.Add(1)
	}
}

// fill brings the cluster into the scheduler's cache, the nodes in name order, as a list from the API server does.
func (q *sequencer) fill(s *scenario) error {
	logger := klog.FromContext(q.ctx)
	slices.SortFunc(s.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range s.nodes {
		if err := q.addNode(node); err != nil {
			return err
		}
	}
	for _, pod := range s.pods {
		if finished(pod) {
			continue
		}
		if err := q.cluster.list(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			if pod.Status.NominatedNodeName != "" {
				fwk.Enqueue(q.ctx, q.sched.SchedulingQueue, pod)
			}
		} else if err := q.sched.Cache.AddPod(logger, pod); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	for _, object := range s.objects {
		if err := q.cluster.list(object); err != nil {
			return err
		}
		fwk.KnowGroup(q.sched.Cache, object)
	}
	return nil
}

func (q *sequencer) addNode(node *v1.Node) error {
	q.nodes[node.Name] = node
	q.sched.Cache.AddNode(klog.FromContext(q.ctx), node)
	return q.cluster.list(node)
}

// take does one step; the answer is nil unless it is a pod.
func (q *sequencer) take(step rawStep) (*decided, error) {
	if step.RemoveNode != "" {
		return nil, q.sched.Cache.RemoveNode(klog.FromContext(q.ctx), q.nodes[step.RemoveNode])
	}
	raw := step.Pod
	if raw == nil {
		raw = step.AddNode
	}
	object, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	switch typed := object.(type) {
	case *v1.Node:
		return nil, q.addNode(typed)
	case *v1.Pod:
		return q.schedule(typed)
	default:
		return nil, fmt.Errorf("want a Pod or a Node, got %T", object)
	}
}

func (q *sequencer) schedule(pod *v1.Pod) (*decided, error) {
	if q.sched.Profiles[pod.Spec.SchedulerName] == nil || pod.DeletionTimestamp != nil {
		return nil, fmt.Errorf("pod %s/%s: nobody schedules it", pod.Namespace, pod.Name)
	}
	if err := q.cluster.list(pod); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	q.now = &decided{Nodes: []string{}}
	fwk.SetNext(q.sched, info)
	bound, failures := q.bound.Load(), q.failures.Load()
	q.sched.ScheduleOne(q.ctx)
	// The pod is bound in a goroutine of its own.
	for q.bound.Load() == bound && q.failures.Load() == failures {
		time.Sleep(10 * time.Microsecond)
	}
	slices.Sort(q.now.Nodes)
	q.now.Event = q.failedScheduling()
	return q.now, nil
}

// failedScheduling is the note of the event about the pod; none if it has a node.
func (q *sequencer) failedScheduling() string {
	note := ""
	for q.now.Message != "" {
		select {
		case event := <-q.recorder.Events:
			if text, found := strings.CutPrefix(event, "Warning FailedScheduling "); found {
				note = text
			}
		default:
			return note
		}
	}
	return note
}

const onlookerName = "Onlooker"

// onlooker notes at PreScore which nodes are scored.
type onlooker struct{ q *sequencer }

func (q *sequencer) newOnlooker(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return onlooker{q}, nil
}

func (onlooker) Name() string { return onlookerName }

func (o onlooker) PreScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	for _, node := range nodes {
		o.q.now.Nodes = append(o.q.now.Nodes, node.Node().Name)
	}
	return nil
}

func withOnlooker(profiles []config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
	watched := make([]config.KubeSchedulerProfile, len(profiles))
	for i, profile := range profiles {
		watched[i] = *profile.DeepCopy()
		enabled := &watched[i].Plugins.PreScore.Enabled
		*enabled = append([]config.Plugin{{Name: onlookerName}}, *enabled...)
	}
	return watched
}
