"""What happened to a cluster and what was decided, in files: to be played again, or asked about."""
