"""Decisions by the scheduling framework's rules.

``engine`` is the one door. ``profiles`` says which plugins run, ``cycle`` evaluates the nodes for one pod,
``cache`` reuses what was evaluated for pods like it, ``commit`` takes a decision to a bound pod.
"""
