package fwk

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"
)

// Informers are those that the plugins get. Up to 1.34 VolumeBinding keeps copies of volumes and claims that it fills from
// events; as the informers never run, whoever listens hears at once of what there is.
func Informers(factory informers.SharedInformerFactory) informers.SharedInformerFactory {
	return telling{factory}
}

type telling struct {
	informers.SharedInformerFactory
}

func (f telling) Core() core.Interface {
	return core.New(f, v1.NamespaceAll, nil)
}

func (f telling) InformerFor(object runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return tellingInformer{f.SharedInformerFactory.InformerFor(object, newFunc)}
}

type tellingInformer struct{ cache.SharedIndexInformer }

func (i tellingInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, object := range i.GetIndexer().List() {
		handler.OnAdd(object, true)
	}
	return i.SharedIndexInformer.AddEventHandler(handler)
}
