"""The same pods placed many times: by each configuration, with each seed, in each cluster."""
