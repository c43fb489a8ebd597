"""Plugins in other processes: the connection to each host, and its plugins as rules of this server."""
