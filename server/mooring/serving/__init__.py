"""Whatever listens: gRPC and HTTP with one set of limits, health apart, certificates, flags and the log.

``mooring serve``, the scheduler, the page and every adapter listen by it, and nothing listens without it.
Certificate files, names of clients, flags and the log need the standard library alone: the API server's
client follows its certificate files, too.
"""
