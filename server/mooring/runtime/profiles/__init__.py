"""Which plugins there are, and which of them a ``schedulerName`` runs at each extension point."""
