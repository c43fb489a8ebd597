"""All metrics, and the observers that count decisions, sources and the scheduling queue."""
