package main

import (
	"reflect"
	"unsafe"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// The timers of the real queue call these; a history calls them at moments of its own.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(q *queue.PriorityQueue, logger klog.Logger)

//go:linkname lenBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*backoffQueue).lenBackoff
func lenBackoff(backoffQueue unsafe.Pointer) int

// canPop tells whether Pop would block: it takes active pods and, without any, those that back off after a refusal.
func canPop(q *queue.PriorityQueue) bool {
	backoff := reflect.ValueOf(q).Elem().FieldByName("backoffQ").Elem().UnsafePointer()
	return len(q.PodsInActiveQ()) > 0 || lenBackoff(backoff) > 0
}
