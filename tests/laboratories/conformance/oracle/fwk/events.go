//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	ActionType           = fwk.ActionType
	ClusterEvent         = fwk.ClusterEvent
	ClusterEventWithHint = fwk.ClusterEventWithHint
	EnqueueExtensions    = fwk.EnqueueExtensions
)

const (
	Add    = fwk.Add
	Delete = fwk.Delete
	Update = fwk.Update
	Node   = fwk.Node
	Queue  = fwk.Queue
)

// Resources are the kinds that events are about, beside pods and nodes.
var Resources = map[string]fwk.EventResource{
	"PersistentVolume":      fwk.PersistentVolume,
	"PersistentVolumeClaim": fwk.PersistentVolumeClaim,
	"CSINode":               fwk.CSINode,
	"CSIDriver":             fwk.CSIDriver,
	"VolumeAttachment":      fwk.VolumeAttachment,
	"CSIStorageCapacity":    fwk.CSIStorageCapacity,
	"StorageClass":          fwk.StorageClass,
	"ResourceClaim":         fwk.ResourceClaim,
	"ResourceSlice":         fwk.ResourceSlice,
	"DeviceClass":           fwk.DeviceClass,
	"PodGroup":              fwk.PodGroup,
}

// Matches tells whether who registered for an event hears of what happened.
var Matches = framework.MatchClusterEvents

// GangScheduling tells whether the queue is told of waiting pods.
func GangScheduling() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload)
}

// LearnDeviceClasses tells the manager which resources devices stand for, as the event handlers do.
func LearnDeviceClasses(manager SharedDRAManager, objects []runtime.Object) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		return
	}
	known := manager.DeviceClassResolver().(cache.ResourceEventHandler)
	for _, object := range objects {
		if class, ok := object.(*resourceapi.DeviceClass); ok {
			known.OnAdd(class, true)
		}
	}
}
