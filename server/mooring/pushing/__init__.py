"""One watcher, many replicas: what a state learns is pushed to servers that don't watch the cluster."""
