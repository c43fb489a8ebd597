"""Changes of a cluster and decisions, in files that can be replayed or queried."""
