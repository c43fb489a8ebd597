"""The parts of a cached evaluation: static, resource and dynamic scores, their totals, and the ranking."""
