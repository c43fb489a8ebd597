"""Generated messages of protos/mooring/kubernetes/v1."""
