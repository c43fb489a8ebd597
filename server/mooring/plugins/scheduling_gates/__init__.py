"""SchedulingGates: a gated pod waits."""
