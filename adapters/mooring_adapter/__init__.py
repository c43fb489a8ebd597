"""Parts of the adapters that serve gRPC: their listener, their connection to mooring, and their command.

An adapter is a servicer that asks a ``Mooring``; ``run`` makes a command of it.
"""
