package main

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// ownAmounts gives the amounts of an object's devices a form that is copied with its struct. A Quantity of many digits, or one
// like 1.5Gi, refers to a big number. Before 1.37 the allocator adds to that in place, in the object that the listers share, so that
// what a claim asks for on one node depends on the nodes that were looked at before.
func ownAmounts(object runtime.Object) {
	switch object := object.(type) {
	case *resourcev1.ResourceClaim:
		for _, request := range object.Spec.Devices.Requests {
			if request.Exactly != nil {
				ownRequests(request.Exactly.Capacity)
			}
			for _, choice := range request.FirstAvailable {
				ownRequests(choice.Capacity)
			}
		}
	case *resourcev1.ResourceSlice:
		for _, set := range object.Spec.SharedCounters {
			ownCounters(set.Counters)
		}
		for _, device := range object.Spec.Devices {
			for _, consumed := range device.ConsumesCounters {
				ownCounters(consumed.Counters)
			}
		}
	}
}

func ownRequests(capacity *resourcev1.CapacityRequirements) {
	if capacity == nil {
		return
	}
	for name, amount := range capacity.Requests {
		capacity.Requests[name] = own(amount)
	}
}

func ownCounters(counters map[string]resourcev1.Counter) {
	for name, counter := range counters {
		counters[name] = resourcev1.Counter{Value: own(counter.Value)}
	}
}

func own(amount resource.Quantity) resource.Quantity {
	for _, same := range []resource.Quantity{
		*resource.NewQuantity(amount.Value(), amount.Format),
		*resource.NewMilliQuantity(amount.MilliValue(), amount.Format),
	} {
		// Cmp turns its receiver into a big number.
		if amount.Cmp(same) == 0 {
			return same
		}
	}
	return amount
}
