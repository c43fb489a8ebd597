//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	"context"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/features"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type (
	// Subject is what the scheduler is asked to find a node for.
	Subject       = *framework.QueuedPodInfo
	EventRecorder = events.EventRecorderLogger
)

// NewCache makes an empty scheduler cache.
func NewCache(ctx context.Context) internalcache.Cache {
	gates := utilfeature.DefaultFeatureGate
	return internalcache.New(ctx, nil, gates.Enabled(features.GenericWorkload), gates.Enabled(features.CompositePodGroup))
}

// KnowGroup tells the cache of a group; for any other object it does nothing.
func KnowGroup(cache internalcache.Cache, object runtime.Object) {
	if group, is := object.(*schedulingv1beta1.PodGroup); is {
		cache.AddPodGroup(group)
	}
}

// JoinGroup tells the cache of a waiting pod, which may be one of a group.
func JoinGroup(cache internalcache.Cache, pod *v1.Pod) {
	cache.AddPodGroupMember(pod)
}

// Enqueue puts a pending pod into the queue.
func Enqueue(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) {
	queue.Add(ctx, pod)
}

// Pods of manifests get their own requests as older API servers fill them in, which is how mooring reads manifests too.
func init() {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.PodLevelResourcesFixDefaulting): false}); err != nil {
		panic(err)
	}
}

// Options are those that the framework has in this release only.
func Options(
	_ context.Context, cache internalcache.Cache, snapshot *internalcache.Snapshot, factory informers.SharedInformerFactory,
) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithPodGroupManager(cache),
		frameworkruntime.WithMutableSnapshotLister(snapshot),
	}
}
