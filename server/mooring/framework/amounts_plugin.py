"""Filter and Score in one step, where nothing counts but what nodes offer and have given away."""

from __future__ import annotations

from abc import abstractmethod

from mooring.framework.columns import Int64s
from mooring.framework.interface import ArgsT, Plugin
from mooring.framework.objects import Pod
from mooring.framework.view import NodeView

REFUSED = -(1 << 40)
"""The score of a node that is refused: no other scores make up for it."""


class AmountsPlugin(Plugin[ArgsT]):
    """A plugin that can say in one step what its points from PreFilter to Score say.

    This is no extension point: the plugin has those as well, and they say the same. It is for pods that none
    like them was decided before, where the steps between the points take longer than the work.
    """

    @abstractmethod
    def rate_nodes(self, pod: Pod, nodes: NodeView) -> Int64s:
        """int64[K], a new array: the score of each of ``nodes``, 0..100, or ``REFUSED``.

        Asked only about pods for which ``depends_on`` says ``Part.AMOUNTS``.
        """
