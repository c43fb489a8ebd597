"""A node's labels without a dict of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class NodeLabels(Mapping[str, str]):
    """Labels that many nodes share, and those whose value is the node's name, such as its host name.

    Immutable. Equal to a dict with the same labels.

    Args:
        common: The labels that are equal; shared.
        named: The keys of the others; shared.
        name: The node's name.
    """

    __slots__ = ("_common", "_name", "_named")

    def __init__(self, common: dict[str, str], named: tuple[str, ...], name: str) -> None:
        self._common = common
        self._named = named
        self._name = name

    def __getitem__(self, key: str) -> str:
        return self._name if key in self._named else self._common[key]

    def __contains__(self, key: object) -> bool:
        return key in self._common or key in self._named

    def __iter__(self) -> Iterator[str]:
        yield from self._common
        yield from self._named

    def __len__(self) -> int:
        return len(self._common) + len(self._named)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NodeLabels):
            mine, theirs = (self._common, self._named), (other._common, other._named)
            if mine == theirs:
                return self._name == other._name or not self._named
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as of a dict

    def __repr__(self) -> str:
        return repr(dict(self))
