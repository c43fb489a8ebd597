//go:build !v1_34 && !v1_35 && !v1_36

package fwk

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/kubernetes/pkg/features"
)

// TrackSlices gives the slices with the taints that rules put on their devices. The tracker hears of both from informers
// that run; they get the objects from a client of their own, and only where there are rules.
func TrackSlices(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (*tracker.Tracker, error) {
	rules := Devices(factory).DeviceTaintRules().Informer().GetIndexer().List()
	if len(rules) == 0 || !utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) {
		return tracker.StartTracker(ctx, tracker.Options{SliceInformer: Devices(factory).ResourceSlices(), KubeClient: client})
	}
	var objects []runtime.Object
	for _, object := range append(rules, Devices(factory).ResourceSlices().Informer().GetIndexer().List()...) {
		objects = append(objects, object.(runtime.Object))
	}
	running := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	tracked, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          Devices(running).ResourceSlices(),
		TaintInformer:          Devices(running).DeviceTaintRules(),
	})
	if err != nil {
		return nil, err
	}
	running.Start(ctx.Done())
	<-tracked.HasSyncedChecker().Done()
	return tracked, nil
}
