//go:build v1_34 || v1_35 || v1_36

package fwk

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func PodChanges(updated, old *v1.Pod) []ClusterEvent {
	return framework.PodSchedulingPropertiesChange(updated, old)
}

func ConcernsOneAlone(ClusterEvent) bool {
	return false
}

func PassesOver(klog.Logger, ClusterEventWithHint, *v1.Pod, any, any) bool {
	return false
}
