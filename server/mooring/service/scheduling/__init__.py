"""SchedulingService: one pod or many, asked about, placed, and committed."""
