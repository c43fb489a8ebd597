"""ImageLocality: prefers nodes that already have the pod's images."""
