//go:build v1_34 || v1_35 || v1_36

package fwk

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func SetNext(sched *scheduler.Scheduler, pod *framework.PodInfo) {
	sched.NextPod = func(klog.Logger) (*framework.QueuedPodInfo, error) {
		return &framework.QueuedPodInfo{PodInfo: pod}, nil
	}
}
