"""The checks of an extender: kube-scheduler's calls are made, and its rules judge the answers."""
