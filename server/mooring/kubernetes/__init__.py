"""Generated messages of the trimmed Kubernetes API, for decoding protobuf input."""
