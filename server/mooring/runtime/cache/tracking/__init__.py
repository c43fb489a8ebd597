"""The change log of the state, read once for all cached evaluations."""
