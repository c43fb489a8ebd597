//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// PodChanges are the events of a pod's update. The queue tells a pod without a node of its own updates, and no other.
func PodChanges(updated, old *v1.Pod) []ClusterEvent {
	return framework.PodSchedulingPropertiesChange(updated, old, true)
}

// ConcernsOneAlone tells whether only the pod that was updated hears of the event.
func ConcernsOneAlone(event ClusterEvent) bool {
	return event.Resource == fwk.TargetPod
}

// PassesOver tells whether the queue asks the plugin about other pods alone, as it does with SchedulerPreQueueingHints.
func PassesOver(logger klog.Logger, entry ClusterEventWithHint, pod *v1.Pod, oldObj, newObj any) bool {
	if entry.PreQueueingHintFn == nil || !utilfeature.DefaultFeatureGate.Enabled(features.SchedulerPreQueueingHints) {
		return false
	}
	found, err := entry.PreQueueingHintFn(logger, oldObj, newObj)
	own := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	return err == nil && !found.AllPods && !slices.Contains(found.Pods, own)
}
