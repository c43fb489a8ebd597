"""Pod groups that a whole kube-scheduler decides, and mooring's cycle of a group."""
