package fwk

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/tools/cache"
)

// Informers are those that the plugins get. Up to 1.34 VolumeBinding keeps copies of volumes and claims that it fills from
// events; as the informers never run, whoever listens hears at once of what there is.
func Informers(factory informers.SharedInformerFactory) *Telling {
	return &Telling{SharedInformerFactory: factory, listeners: map[cache.Indexer][]cache.ResourceEventHandler{}}
}

// Telling is a factory whose informers tell at once of what there is, and of what is said to them afterwards.
type Telling struct {
	informers.SharedInformerFactory
	listeners map[cache.Indexer][]cache.ResourceEventHandler
}

func (f *Telling) Core() core.Interface {
	return core.New(f, v1.NamespaceAll, nil)
}

func (f *Telling) Resource() resource.Interface {
	return resource.New(f, v1.NamespaceAll, nil)
}

func (f *Telling) InformerFor(object runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return tellingInformer{f.SharedInformerFactory.InformerFor(object, newFunc), f}
}

// Update puts a new version of an object where the listers find it, and tells whoever listens.
func (f *Telling) Update(informer cache.SharedIndexInformer, object runtime.Object) error {
	indexer := informer.GetIndexer()
	before, _, err := indexer.Get(object)
	if err != nil {
		return err
	}
	if err := indexer.Update(object); err != nil {
		return err
	}
	for _, listener := range f.listeners[indexer] {
		listener.OnUpdate(before, object)
	}
	return nil
}

type tellingInformer struct {
	cache.SharedIndexInformer
	factory *Telling
}

func (i tellingInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	indexer := i.GetIndexer()
	for _, object := range indexer.List() {
		handler.OnAdd(object, true)
	}
	i.factory.listeners[indexer] = append(i.factory.listeners[indexer], handler)
	return i.SharedIndexInformer.AddEventHandler(handler)
}
