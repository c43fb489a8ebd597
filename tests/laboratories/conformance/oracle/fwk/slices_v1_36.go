//go:build v1_34 || v1_35 || v1_36

package fwk

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
)

func TrackSlices(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (*tracker.Tracker, error) {
	return tracker.StartTracker(ctx, tracker.Options{SliceInformer: Devices(factory).ResourceSlices(), KubeClient: client})
}
