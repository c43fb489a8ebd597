//go:build v1_33

package fwk

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	ActionType           = framework.ActionType
	ClusterEvent         = framework.ClusterEvent
	ClusterEventWithHint = framework.ClusterEventWithHint
	EnqueueExtensions    = framework.EnqueueExtensions
)

const (
	Add    = framework.Add
	Delete = framework.Delete
	Update = framework.Update
	Node   = framework.Node
	Queue  = framework.Queue
)

var Resources = map[string]framework.EventResource{
	"PersistentVolume":      framework.PersistentVolume,
	"PersistentVolumeClaim": framework.PersistentVolumeClaim,
	"CSINode":               framework.CSINode,
	"CSIDriver":             framework.CSIDriver,
	"VolumeAttachment":      framework.VolumeAttachment,
	"CSIStorageCapacity":    framework.CSIStorageCapacity,
	"StorageClass":          framework.StorageClass,
	"ResourceClaim":         framework.ResourceClaim,
	"ResourceSlice":         framework.ResourceSlice,
	"DeviceClass":           framework.DeviceClass,
}

func Matches(registered, event ClusterEvent) bool {
	return registered.Match(event)
}

func GangScheduling() bool {
	return false
}

func LearnDeviceClasses(SharedDRAManager, []runtime.Object) {}
