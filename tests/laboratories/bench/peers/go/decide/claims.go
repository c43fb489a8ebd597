package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// serveClaims answers what DynamicResources writes in PreBind: ResourceClaims, which are heard of at once, and the name of
// a claim in a pod's status, which no decision reads again.
func (c *cluster) serveClaims(client *fake.Clientset) {
	for _, verb := range []string{"create", "update"} {
		client.PrependReactor(verb, "resourceclaims", c.writeClaim)
	}
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &v1.Pod{}, nil
	})
}

func (c *cluster) writeClaim(action clienttesting.Action) (bool, runtime.Object, error) {
	written, ok := action.(interface{ GetObject() runtime.Object }).GetObject().(*resourcev1.ResourceClaim)
	if !ok {
		return true, nil, fmt.Errorf("want a ResourceClaim, got %v", action)
	}
	claim := written.DeepCopy()
	if claim.Name == "" {
		claim.Name = fmt.Sprintf("%s%d", claim.GenerateName, c.revision.Load())
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
	}
	// Whoever wrote it changes what it is given.
	return true, claim.DeepCopy(), c.put(claim)
}
