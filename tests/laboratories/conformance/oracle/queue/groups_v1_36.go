//go:build v1_36

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	oracle "mooring.dev/conformance/fwk"
)

// The queue of 1.36 knows no groups.
type groups struct{}

func newGroups() groups { return groups{} }

func enableGroups(on bool) {
	if on {
		panic("groups")
	}
}

func (p *player) pop(logger klog.Logger) string {
	info, err := oracle.Pop(logger, p.queue)
	if err != nil {
		panic(err)
	}
	p.flight = append(p.flight, info)
	return info.Pod.Name
}

func (p *player) lands(*framework.QueuedPodInfo) bool { return true }

func (p *player) playGroup(_ klog.Logger, next step) { panic(next.Do) }

func join(*v1.Pod, string) {}

func (p *player) waiting() map[string][]*v1.Pod { return nil }

func (p *player) groupPlaces() map[string]place { return nil }
