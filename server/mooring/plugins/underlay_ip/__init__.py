"""UnderlayIP: keeps pods to nodes that have an underlay IP left for them."""
