"""Kubernetes' own end-to-end tests of scheduling, with mooring in kube-scheduler's place."""
