package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"mooring.dev/conformance/fwk"
)

// cluster is what the plugins can see: the scheduler's snapshot and the listers of the informers.
type cluster struct {
	client   *fake.Clientset
	factory  informers.SharedInformerFactory
	snapshot *internalcache.Snapshot
	cache    internalcache.Cache
}

// newCluster fills the real scheduler cache in name order, because the size that an image has for every node
// is the one of the first node added. Finished pods are left out, as the scheduler's informer leaves them out.
func newCluster(ctx context.Context, s *scenario) (*cluster, error) {
	logger := klog.FromContext(ctx)
	client := fake.NewSimpleClientset()
	c := &cluster{
		client:   client,
		factory:  informers.NewSharedInformerFactory(client, 0),
		snapshot: internalcache.NewEmptySnapshot(),
		cache:    fwk.NewCache(ctx),
	}
	slices.SortFunc(s.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range s.nodes {
		c.cache.AddNode(logger, node)
		if err := c.list(node); err != nil {
			return nil, err
		}
	}
	for _, pod := range s.pods {
		if finished(pod) {
			continue
		}
		if err := c.list(pod); err != nil {
			return nil, err
		}
		if pod.Spec.NodeName == "" {
			fwk.JoinGroup(c.cache, pod)
			continue
		}
		if err := c.cache.AddPod(logger, pod); err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if s.pod != nil {
		fwk.JoinGroup(c.cache, s.pod)
	}
	for _, object := range s.objects {
		if err := c.list(object); err != nil {
			return nil, err
		}
		fwk.KnowGroup(c.cache, object)
	}
	return c, c.cache.UpdateSnapshot(logger, c.snapshot)
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// list puts an object where the listers find it. The informers never run, so no time is spent on their synchronisation.
func (c *cluster) list(object runtime.Object) error {
	ownAmounts(object)
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	informer, err := c.factory.ForResource(resource)
	if err != nil {
		return fmt.Errorf("%s: %w", kinds[0].Kind, err)
	}
	return informer.Informer().GetIndexer().Add(object)
}

// nodes are the snapshot's nodes in name order.
func (c *cluster) nodes() ([]fwk.NodeInfo, error) {
	listed, err := c.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(listed)
	slices.SortFunc(sorted, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	return sorted, nil
}
