//go:build v1_36

package fwk

import (
	"context"

	v1 "k8s.io/api/core/v1"
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
	return internalcache.New(ctx, nil, utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload))
}

// KnowGroup does nothing: this release reads groups from the listers, or has none.
func KnowGroup(internalcache.Cache, runtime.Object) {}

// JoinGroup tells the cache of a waiting pod, which may be one of a group.
func JoinGroup(cache internalcache.Cache, pod *v1.Pod) {
	cache.AddPodGroupMember(pod)
}

// Enqueue puts a pending pod into the queue.
func Enqueue(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) {
	queue.Add(ctx, pod)
}

// Options are those that the framework has in this release only.
func Options(
	_ context.Context, cache internalcache.Cache, _ *internalcache.Snapshot, factory informers.SharedInformerFactory,
) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithPodGroupManager(cache),
	}
}
