"""The gRPC service: transport, protections, health and metrics, and the servicers of mooring.v1."""
