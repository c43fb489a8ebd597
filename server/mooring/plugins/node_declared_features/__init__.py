"""NodeDeclaredFeatures: keeps pods on nodes whose kubelet has the features that they need."""
