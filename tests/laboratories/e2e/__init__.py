"""Tests against real programs: etcd, kube-apiserver, kube-scheduler, ghz, h2spec, clients in Go and Node."""
