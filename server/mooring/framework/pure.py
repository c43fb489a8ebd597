"""The promise that a plugin's answers follow from what it is given, and from nothing else."""

from __future__ import annotations


class Pure:
    """A plugin whose answers, up to Score, are a pure function of what it is given.

    That is the pod, the nodes, the cluster's objects as its points get them, its own CycleState and its
    arguments. What breaks the promise: clocks, random numbers, files, the network, environment variables,
    ``self.handle``, and attributes, globals or closures that change.

    A class inherits from it besides its extension points, ``class Rack(FilterPlugin[None], Pure)``. The
    engine records what the plugin reads, calls it once for each combination of values that it has not seen,
    and keeps the answers by these values. So ``CacheablePlugin`` need not be declared.
    """
