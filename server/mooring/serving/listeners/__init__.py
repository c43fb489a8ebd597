"""Additional listeners for health and for pages, and the parts that they share."""
