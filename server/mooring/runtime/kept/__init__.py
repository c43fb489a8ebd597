"""Kept evaluations: what was said of the nodes for one pod is said again for all pods like it.

``keeper`` finds the evaluation that pods like this one have in common, ``kept`` brings it up to date with
the change log, ``standing`` and ``amounts`` hold its two halves, ``ranking`` its totals, ``movements``
reads the log for all of them.
"""
