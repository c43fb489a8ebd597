"""The framework's rules: registry, profiles, the scheduling cycle, choosing and committing."""
