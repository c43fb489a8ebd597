package fwk

import (
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
)

// Devices are the informers of the resource.k8s.io version that this release's scheduler watches.
func Devices(factory informers.SharedInformerFactory) resourceinformers.Interface {
	return factory.Resource().V1()
}
