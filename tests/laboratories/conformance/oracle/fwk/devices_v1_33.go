//go:build v1_33

package fwk

import (
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1beta1"
)

func Devices(factory informers.SharedInformerFactory) resourceinformers.Interface {
	return factory.Resource().V1beta1()
}
