"""What every listener of mooring shares, gRPC or HTTP: certificate files, names of clients, flags, the log.

It imports the standard library alone, so that adapters can use it without the rest of mooring. The API
server's client follows its certificate files, too.
"""
