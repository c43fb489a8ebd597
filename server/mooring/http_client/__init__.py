"""HTTP/1.1 to other servers: the API server, extenders and Prometheus are all called through it.

``HttpClient`` waits for an answer, or reads one that goes on; ``Exchanges`` has a thread of its own take the
answers. It imports the standard library and httptools alone, so every layer may use it.
"""
