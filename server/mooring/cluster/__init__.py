"""The cluster as mooring knows it: the one writer of the tables, decoders, sources, binding."""
