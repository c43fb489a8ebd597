package main

import (
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// kinds are those of which a cluster may have objects here.
var kinds = []runtime.Object{
	&v1.Node{}, &v1.Pod{}, &v1.Service{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{},
	&storagev1.CSINode{}, &storagev1.StorageClass{}, &policyv1.PodDisruptionBudget{},
	&resourcev1.DeviceClass{}, &resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{},
}

// told is an informer that neither lists nor watches: it has what it is told, and tells its listeners at once.
type told struct {
	cache.SharedIndexInformer
	listeners []cache.ResourceEventHandler
}

func (i *told) AddEventHandler(listener cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(listener, cache.HandlerOptions{})
}

func (i *told) AddEventHandlerWithOptions(
	listener cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	i.listeners = append(i.listeners, listener)
	return i.SharedIndexInformer.AddEventHandlerWithOptions(listener, options)
}

// cluster is all objects, as listers and listeners of a factory of informers know them.
type cluster struct {
	informers map[reflect.Type]*told
	revision  atomic.Int64
}

// newCluster is empty. The informers have to be those of a factory that nobody has asked for one yet.
func newCluster(factory informers.SharedInformerFactory) *cluster {
	c := &cluster{informers: map[reflect.Type]*told{}}
	for _, kind := range kinds {
		factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			informer := &told{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, byNamespace)}
			c.informers[reflect.TypeOf(kind)] = informer
			return informer
		})
	}
	return c
}

// put makes known that an object is new, or is now as it is here.
func (c *cluster) put(object runtime.Object) error {
	informer, ok := c.informers[reflect.TypeOf(object)]
	if !ok {
		return fmt.Errorf("nobody listens to a %T", object)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatInt(c.revision.Add(1), 10))
	before, known, err := informer.GetIndexer().Get(object)
	if err != nil {
		return err
	}
	if err := informer.GetIndexer().Update(object); err != nil {
		return err
	}
	for _, listener := range informer.listeners {
		if known {
			listener.OnUpdate(before, object)
		} else {
			listener.OnAdd(object, false)
		}
	}
	return nil
}

// remove makes known that an object is gone.
func (c *cluster) remove(object runtime.Object) error {
	informer := c.informers[reflect.TypeOf(object)]
	if err := informer.GetIndexer().Delete(object); err != nil {
		return err
	}
	for _, listener := range informer.listeners {
		listener.OnDelete(object)
	}
	return nil
}
