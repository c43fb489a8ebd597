//go:build v1_34

package fwk

import "k8s.io/client-go/informers"

func TellClasses(SharedDRAManager, informers.SharedInformerFactory) {}
