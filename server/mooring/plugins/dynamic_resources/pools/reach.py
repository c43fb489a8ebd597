"""Which nodes reach a slice, a device or an allocation."""

from __future__ import annotations

from mooring.framework import Bools, NodeView
from mooring.framework.node_selector import selector_errors, selector_matches
from mooring.framework.objects import NodeSelector


class NodeSelectorError(Exception):
    """A node selector can't be used; the decision fails, as in kube-scheduler."""


def parsed(selector: NodeSelector, path: str) -> NodeSelector:
    """``selector``; raises NodeSelectorError, with the field below ``path``, if it can't be used."""
    errors = [str(error) for error in selector_errors(selector, path)]
    if errors:
        raise NodeSelectorError("; ".join(errors))
    return selector


class Reach:
    """Answers for the nodes of one view; each selector is matched once for all of them.

    Mirrors ``NodeMatches`` in ``structured/internal``.
    """

    def __init__(self, nodes: NodeView) -> None:
        self.nodes = nodes
        self.names = nodes.names
        self._masks: dict[int, tuple[NodeSelector, Bools]] = {}

    def selected(self, selector: NodeSelector, position: int) -> bool:
        """Return whether ``selector`` matches the node at ``position``. Raises NodeSelectorError if the
        selector can't be used.
        """
        known = self._masks.get(id(selector))
        if known is None:
            known = selector, selector_matches(parsed(selector, "nodeSelector"), self.nodes)
            self._masks[id(selector)] = known
        return bool(known[1][position])

    def matches(
        self, position: int, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
    ) -> bool:
        """Return whether the node at ``position`` is the one named, one of all, or selected, in this order.
        Raises NodeSelectorError if the selector can't be used.
        """
        if node_name:
            return self.names[position] == node_name
        if all_nodes:
            return True
        return selector is not None and self.selected(selector, position)
