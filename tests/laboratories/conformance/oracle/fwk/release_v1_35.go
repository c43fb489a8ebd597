//go:build v1_35

package fwk

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/backend/workloadmanager"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type (
	Subject       = *v1.Pod
	EventRecorder = events.EventRecorder
)

func NewCache(ctx context.Context) internalcache.Cache {
	return internalcache.New(ctx, 0, nil)
}

// KnowGroup does nothing: this release reads groups from the listers, or has none.
func KnowGroup(internalcache.Cache, runtime.Object) {}

func JoinGroup(internalcache.Cache, *v1.Pod) {}

func Enqueue(ctx context.Context, queue internalqueue.SchedulingQueue, pod *v1.Pod) {
	queue.Add(klog.FromContext(ctx), pod)
}

func Options(
	_ context.Context, _ internalcache.Cache, _ *internalcache.Snapshot, factory informers.SharedInformerFactory,
) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithWorkloadManager(workloadmanager.New()),
	}
}
