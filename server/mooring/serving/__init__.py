"""What every listener of mooring shares, gRPC or HTTP: certificate files, names of clients, flags, the log.

It imports the standard library alone, so that adapters can use it without the rest of mooring. Its certificate
files are also those of the API server's client.
"""
