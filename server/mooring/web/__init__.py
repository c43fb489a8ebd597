"""The page: a process of its own, which asks mooring processes over gRPC and only reads."""
