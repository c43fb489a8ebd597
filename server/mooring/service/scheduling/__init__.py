"""SchedulingService: filters, scores, explains, places and commits one pod or many."""
