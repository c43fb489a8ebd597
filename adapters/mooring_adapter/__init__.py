"""What the adapters that serve gRPC share: their listener, their way to mooring, and their command.

An adapter is a servicer that asks a `Mooring`; `run` makes a command of it.
"""
