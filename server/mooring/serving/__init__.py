"""What every listener of mooring shares, gRPC or HTTP: certificate files, names of clients, addresses.

It imports the standard library alone, so that the extender adapter can use it without the rest of mooring.
"""
