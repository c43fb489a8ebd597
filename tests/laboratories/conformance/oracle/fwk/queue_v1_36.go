//go:build v1_36

package fwk

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func Pop(logger klog.Logger, queue *internalqueue.PriorityQueue) (*framework.QueuedPodInfo, error) {
	return queue.Pop(logger)
}

func Remove(_ klog.Logger, queue *internalqueue.PriorityQueue, pod *v1.Pod) {
	queue.Delete(pod)
}

func GiveBack(logger klog.Logger, queue *internalqueue.PriorityQueue, pod *framework.QueuedPodInfo) error {
	return queue.AddUnschedulableIfNotPresent(logger, pod, queue.SchedulingCycle())
}

func InQueue(queue *internalqueue.PriorityQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(pod.Name, pod.Namespace)
}
