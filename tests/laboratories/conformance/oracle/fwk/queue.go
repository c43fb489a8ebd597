//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Remove takes a pod out that is gone.
func Remove(logger klog.Logger, queue *internalqueue.PriorityQueue, pod *v1.Pod) {
	queue.Delete(logger, pod)
}

// GiveBack returns a pod that was refused.
func GiveBack(logger klog.Logger, queue *internalqueue.PriorityQueue, pod *framework.QueuedPodInfo) error {
	return queue.AddUnschedulablePodIfNotPresent(logger, pod, queue.SchedulingCycle())
}

// InQueue gives what the queue knows of a pod.
func InQueue(queue *internalqueue.PriorityQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
}
