"""NetworkTraffic: prefers nodes whose network is quiet."""
