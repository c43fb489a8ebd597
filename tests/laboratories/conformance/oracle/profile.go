package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configvalidation "k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
	"mooring.dev/conformance/fwk"
)

const defaultConfig = `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}`

// metricsRecorder is shared: a framework without one would start a flushing goroutine for each scenario.
var metricsRecorder = metrics.NewMetricsAsyncRecorder(1000, time.Hour, make(chan struct{}))

// pluginHost is a framework together with its plugin instances, which the framework itself does not hand out.
type pluginHost struct {
	framework.Framework
	plugins map[string]fwk.Plugin
	// enabled is the effective list of plugins per extension point, with weights, in the order they run.
	enabled *config.Plugins
}

func loadConfig(raw []byte) (*config.KubeSchedulerConfiguration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte(defaultConfig)
	}
	obj, _, err := configscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("want a KubeSchedulerConfiguration, got %T", obj)
	}
	if errs := configvalidation.ValidateKubeSchedulerConfiguration(cfg); errs != nil {
		return nil, errs
	}
	return cfg, nil
}

// pickProfile takes the profile asked for, else the one that the pod names, else the only one.
func pickProfile(cfg *config.KubeSchedulerConfiguration, asked string, pod *v1.Pod) (*config.KubeSchedulerProfile, error) {
	wanted := asked
	if wanted == "" {
		wanted = pod.Spec.SchedulerName
	}
	i := slices.IndexFunc(cfg.Profiles, func(p config.KubeSchedulerProfile) bool { return p.SchedulerName == wanted })
	if i < 0 && asked == "" && len(cfg.Profiles) == 1 {
		i = 0
	}
	if i < 0 {
		return nil, fmt.Errorf("no profile %q", wanted)
	}
	return &cfg.Profiles[i], nil
}

// gatesMutex guards the process's feature gates: scenarios of the release's own gates share them, one with others has
// the process for itself, as kube-scheduler's code reads some of them in the midst of a decision.
var gatesMutex sync.RWMutex

// withGates calls decide under a scenario's feature gates.
func withGates(gates map[string]bool, decide func() error) error {
	if len(gates) == 0 {
		gatesMutex.RLock()
		defer gatesMutex.RUnlock()
		return decide()
	}
	gatesMutex.Lock()
	defer gatesMutex.Unlock()
	defaults := map[string]bool{}
	for name := range gates {
		defaults[name] = utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
	}
	// Also when it fails, as then some of them are set.
	defer func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(defaults) }()
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	return decide()
}

func newPluginHost(ctx context.Context, c *cluster, profile *config.KubeSchedulerProfile, pods []*v1.Pod) (*pluginHost, error) {
	host := &pluginHost{plugins: map[string]fwk.Plugin{}}
	registry := plugins.NewInTreeRegistry()
	for name, factory := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			host.plugins[name] = plugin
			return plugin, err
		}
	}
	draManager, err := newDRAManager(ctx, c)
	if err != nil {
		return nil, err
	}
	options := append(fwk.Options(ctx, c.cache, c.snapshot, c.factory),
		frameworkruntime.WithClientSet(c.client),
		frameworkruntime.WithInformerFactory(fwk.Informers(c.factory)),
		frameworkruntime.WithSnapshotSharedLister(c.snapshot),
		frameworkruntime.WithSharedDRAManager(draManager),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithMetricsRecorder(metricsRecorder),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
	)
	host.Framework, err = frameworkruntime.NewFramework(ctx, registry, profile, options...)
	if err != nil {
		return nil, err
	}
	host.enabled = host.ListPlugins()
	return host, host.nominate(ctx, c, pods)
}

func newDRAManager(ctx context.Context, c *cluster) (fwk.SharedDRAManager, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DynamicResourceAllocation) {
		return nil, nil
	}
	informer := fwk.Devices(c.factory).ResourceClaims().Informer()
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), informer, "ResourceClaim", "", nil)
	// The informer never runs, so the cache hears of the claims from here.
	for _, claim := range informer.GetIndexer().List() {
		assumecache.AddTestObject(claims, claim)
	}
	slices, err := fwk.TrackSlices(ctx, c.client, c.factory)
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, c.factory)
	fwk.TellClasses(manager, c.factory)
	return manager, nil
}

// nominate tells the framework of pending pods that hold a nomination for a node.
func (h *pluginHost) nominate(ctx context.Context, c *cluster, pods []*v1.Pod) error {
	queue := internalqueue.NewSchedulingQueue(h.QueueSortFunc(), c.factory)
	for _, pod := range pods {
		if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" || finished(pod) {
			continue
		}
		// The queue believes a nomination only of a pod that it holds and that the lister knows.
		if err := c.list(pod); err != nil {
			return err
		}
		fwk.Enqueue(ctx, queue, pod)
	}
	h.SetPodNominator(queue)
	h.SetPodActivator(queue)
	return nil
}
