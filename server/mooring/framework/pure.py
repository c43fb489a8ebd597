"""The promise that a plugin's answers follow from the arguments of its points alone."""

from __future__ import annotations


class Pure:
    """A plugin whose answers, up to Score, are a pure function of its arguments and those of its points.

    These are the pod, the nodes, the cluster's objects and the plugin's own CycleState. Clocks, random
    numbers, files, the network, environment variables, ``self.handle``, and attributes, globals or closures
    that change break the promise. ``filter_nodes`` and ``score_nodes`` compare no nodes with each other: a
    normalizer does.

    A class inherits from it besides its extension points, ``class Rack(FilterPlugin[None], Pure)``. The
    engine records what the plugin reads, calls it once for each combination of values that it has not seen,
    and keeps the answers by these values. So ``CacheablePlugin`` need not be declared.
    """

    def logs_calls(self) -> bool:
        """Return whether each call writes lines to the log, at the level in force when the plugin is made.

        Then the plugin is called for each decision, or its lines would be missing.
        """
        return False
