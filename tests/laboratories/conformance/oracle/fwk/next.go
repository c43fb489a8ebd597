//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// SetNext says which pod the scheduler takes next.
func SetNext(sched *scheduler.Scheduler, pod *framework.PodInfo) {
	sched.NextEntity = func(klog.Logger) (framework.QueuedEntityInfo, error) {
		return &framework.QueuedPodInfo{PodInfo: pod}, nil
	}
}
