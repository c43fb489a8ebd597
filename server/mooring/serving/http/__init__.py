"""HTTP on an address of its own: what listens, and what each connection may take."""
