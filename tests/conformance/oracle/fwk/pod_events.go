//go:build !v1_33 && !v1_34 && !v1_35 && !v1_36

package fwk

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
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
