// Command decide places pods with kube-scheduler's own code: snapshot, SchedulePod, assume; no queue, no API server, no bind.
//
// Pods are signed and cycles are counted as its queue does, so OpportunisticBatching reuses results wherever it can. With the
// default profile it can't: default spread constraints look at other pods, so that no pod has a signature.
//
// Each line of stdin is {"objects": [...], "pods": [...]}: what the cluster has from now on, and the pods to place one after
// the other. Each gets a line on stdout: {"seconds": ..., "placed": ...}. Reading, decoding and
// signing are not in the seconds.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type question struct {
	Objects []json.RawMessage `json:"objects"`
	Pods    []json.RawMessage `json:"pods"`
}

type answer struct {
	Seconds float64 `json:"seconds"`
	Placed  int     `json:"placed"`
}

func main() {
	percentage := flag.Int("percentage", 0, "percentageOfNodesToScore; 0 = the default sampling")
	noSpread := flag.Bool("no-default-spread", false, "leave out the default spread constraints, so that pods have signatures")
	flag.Parse()
	silenceKlog()
	metrics.Register()
	if err := serve(int32(*percentage), *noSpread); err != nil {
		fmt.Fprintln(os.Stderr, "decide:", err)
		os.Exit(1)
	}
}

func silenceKlog() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

func serve(percentage int32, noSpread bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d, err := newDecider(ctx, percentage, noSpread)
	if err != nil {
		return err
	}
	questions, answers := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		said, err := d.answer(&asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(said); err != nil {
			return err
		}
	}
}

// cycles is a queue that nothing is taken from: it counts the pods that are placed, as the queue counts those it hands out.
type cycles struct {
	internalqueue.SchedulingQueue
	count int64
}

func (c *cycles) SchedulingCycle() int64 { return c.count }

// decider is a whole kube-scheduler whose informers do not run: listers and cache are filled here.
type decider struct {
	ctx       context.Context
	factory   informers.SharedInformerFactory
	sched     *scheduler.Scheduler
	cycles    *cycles
	framework framework.Framework
	snapshot  *internalcache.Snapshot
}

func newDecider(ctx context.Context, percentage int32, noSpread bool) (*decider, error) {
	profiles, err := profilesOf(noSpread)
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	var recorder profile.RecorderFactory = func(string) events.EventRecorderLogger { return events.NewFakeRecorder(100) }
	options := []scheduler.Option{scheduler.WithPercentageOfNodesToScore(&percentage), scheduler.WithProfiles(profiles...)}
	sched, err := scheduler.New(ctx, client, factory, nil, recorder, options...)
	if err != nil {
		return nil, err
	}
	chosen := sched.Profiles[v1.DefaultSchedulerName]
	snapshot, ok := chosen.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the plugins' snapshot is a %T", chosen.SnapshotSharedLister())
	}
	counted := &cycles{SchedulingQueue: sched.SchedulingQueue}
	sched.SchedulingQueue = counted
	return &decider{ctx: ctx, factory: factory, sched: sched, cycles: counted, framework: chosen, snapshot: snapshot}, nil
}

// profilesOf gives the default profile, or the same without default spread constraints.
func profilesOf(noSpread bool) ([]config.KubeSchedulerProfile, error) {
	loaded, err := latest.Default()
	if err != nil {
		return nil, err
	}
	for _, plugin := range loaded.Profiles[0].PluginConfig {
		if args, ok := plugin.Args.(*config.PodTopologySpreadArgs); ok && plugin.Name == names.PodTopologySpread && noSpread {
			args.DefaultingType, args.DefaultConstraints = config.ListDefaulting, nil
		}
	}
	return loaded.Profiles, nil
}

func (d *decider) answer(asked *question) (*answer, error) {
	for _, raw := range asked.Objects {
		if err := d.add(raw); err != nil {
			return nil, err
		}
	}
	pods := make([]*framework.QueuedPodInfo, len(asked.Pods))
	for i, raw := range asked.Pods {
		object, err := parse(raw)
		if err != nil {
			return nil, err
		}
		pod, ok := object.(*v1.Pod)
		if !ok {
			return nil, fmt.Errorf("want a Pod, got %T", object)
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		pods[i] = &framework.QueuedPodInfo{PodInfo: info, PodSignature: d.framework.SignPod(d.ctx, pod)}
	}
	placed := 0
	began := time.Now()
	for _, pod := range pods {
		var unfit *framework.FitError
		if err := d.place(pod); err == nil {
			placed++
		} else if !errors.As(err, &unfit) {
			return nil, fmt.Errorf("pod %s: %w", klog.KObj(pod.Pod), err)
		}
	}
	return &answer{Seconds: time.Since(began).Seconds(), Placed: placed}, nil
}

func (d *decider) place(pod *framework.QueuedPodInfo) error {
	logger := klog.FromContext(d.ctx)
	d.cycles.count++
	if err := d.sched.Cache.UpdateSnapshot(logger, d.snapshot); err != nil {
		return err
	}
	result, err := d.sched.SchedulePod(d.ctx, d.framework, framework.NewCycleState(), pod)
	if err != nil {
		return err
	}
	assumed := pod.DeepCopy()
	assumed.Pod.Spec.NodeName = result.SuggestedHost
	return d.sched.Cache.AssumePod(logger, assumed.Pod)
}

// add makes an object known as the informers would: to the listers, and nodes and placed pods to the scheduler's cache.
func (d *decider) add(raw []byte) error {
	object, err := parse(raw)
	if err != nil {
		return err
	}
	logger := klog.FromContext(d.ctx)
	switch typed := object.(type) {
	case *v1.Node:
		d.sched.Cache.AddNode(logger, typed)
	case *v1.Pod:
		if err := d.sched.Cache.AddPod(logger, typed); err != nil {
			return err
		}
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	informer, err := d.factory.ForResource(resource)
	if err != nil {
		return fmt.Errorf("%s: %w", kinds[0].Kind, err)
	}
	return informer.Informer().GetIndexer().Add(object)
}

// parse reads a manifest with the defaults that the API server fills in.
func parse(raw []byte) (runtime.Object, error) {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	return object, nil
}
