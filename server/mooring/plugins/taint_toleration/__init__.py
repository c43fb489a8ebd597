"""TaintToleration: keeps pods off nodes whose taints they don't tolerate."""
