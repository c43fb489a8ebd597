"""The way from a pod to the cached evaluation of all pods with its signature."""
