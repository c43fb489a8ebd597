//go:build !v1_34

package fwk

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/features"
)

// TellClasses makes known to a manager of devices which classes there are: it hears of them from events.
func TellClasses(manager SharedDRAManager, factory informers.SharedInformerFactory) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		return
	}
	listener := manager.DeviceClassResolver().(cache.ResourceEventHandler)
	for _, class := range Devices(factory).DeviceClasses().Informer().GetIndexer().List() {
		listener.OnAdd(class, true)
	}
}
