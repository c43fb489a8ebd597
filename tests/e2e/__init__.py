"""Tests against real programs: etcd, kube-apiserver and kube-scheduler, clients in Go and Node, ghz."""
