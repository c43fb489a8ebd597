//go:build v1_34

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

func Options(_ context.Context, _ internalcache.Cache, _ *internalcache.Snapshot, _ informers.SharedInformerFactory) []frameworkruntime.Option {
	return nil
}
