package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// endVictimsInTheCycle leaves out the goroutine in which DefaultPreemption deletes victims beside the cycles: the next pod
// would have to wait for its end.
func endVictimsInTheCycle() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.SchedulerAsyncPreemption): false})
}

// endVictim is DefaultPreemption's PreemptPod without an API server: the victim is gone at once.
func (c *cluster) endVictim(
	_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string,
) (bool, error) {
	return false, c.remove(victim)
}
