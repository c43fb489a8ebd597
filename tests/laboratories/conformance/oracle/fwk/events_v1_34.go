//go:build v1_34

package fwk

import (
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type (
	ActionType           = fwk.ActionType
	ClusterEvent         = fwk.ClusterEvent
	ClusterEventWithHint = fwk.ClusterEventWithHint
	EnqueueExtensions    = framework.EnqueueExtensions
)

const (
	Add    = fwk.Add
	Delete = fwk.Delete
	Update = fwk.Update
	Node   = fwk.Node
	Queue  = fwk.Queue
)

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
}

var Matches = framework.MatchClusterEvents

func GangScheduling() bool {
	return false
}

func LearnDeviceClasses(SharedDRAManager, []runtime.Object) {}
