//go:build !v1_33 && !v1_34

package fwk

import "k8s.io/client-go/informers"

// Informers are those that the plugins get.
func Informers(factory informers.SharedInformerFactory) informers.SharedInformerFactory {
	return factory
}
