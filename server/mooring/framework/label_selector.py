"""Label selectors, compiled once and then matched with any number of label sets.

Mirrors ``LabelSelectorAsSelector`` of ``k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go`` and
``k8s.io/apimachinery/pkg/labels/selector.go``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework.names import is_label_value, is_qualified_name
from mooring.framework.objects import LabelSelector, LabelSelectorRequirement
from mooring.kernels.arrays import Bools

MAX_SELECTOR = 4_096
"""The longest text of a selector, in characters."""


class SelectorError(ValueError):
    """A label selector can't be used; the message says which part of it and why."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on labels; ``operator`` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` meet the condition."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return labels.get(self.key) not in self.values
        return (self.key in labels) == (self.operator == "Exists")


@dataclass(frozen=True, slots=True)
class LabelMatcher:
    """A compiled selector.

    Attributes:
        requirements: All of them must hold.
        nothing: It matches no labels at all, which is what an absent selector means.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """True when it has no conditions, so that everything matches."""
        return not self.nothing and not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` match."""
        # A loop takes a third of ``all``, and some decisions match thousands.
        for requirement in self.requirements:
            if not requirement.holds(labels):
                return False
        return not self.nothing

    def lacks(self, texts: Collection[str]) -> bool:
        """Return True if no labels with only these keys and values can match; False leaves it open.

        It takes a fraction of making the labels and matching them.
        """
        for requirement in self.requirements:
            if requirement.operator == "In" and requirement.values.isdisjoint(texts):
                return True
        return self.nothing

    def narrowed(self, other: LabelMatcher) -> LabelMatcher:
        """Return a matcher that matches labels which both match; nothing if one of them matches nothing."""
        return LabelMatcher(self.requirements + other.requirements, self.nothing or other.nothing)


class LabelMatchers:
    """Many selectors, which are matched with labels in one step. Immutable.

    A label looks up only the requirements about its key, each with one look-up of its value.

    Args:
        selectors: S selectors.
    """

    __slots__ = ("_by_key", "_unmet")

    def __init__(self, selectors: Sequence[LabelMatcher]) -> None:
        unmet = [int(selector.nothing) for selector in selectors]
        by_key: dict[str, tuple[list[int], list[int], list[Requirement]]] = {}
        for number, selector in enumerate(selectors):
            for requirement in selector.requirements:
                wanted = requirement.operator in ("In", "Exists")
                unmet[number] += wanted
                numbers, changes, requirements = by_key.setdefault(requirement.key, ([], [], []))
                numbers.append(number)
                changes.append(-1 if wanted else 1)
                requirements.append(requirement)
        # int32[S]: how many requirements of each selector no labels at all leave unmet.
        self._unmet = np.array(unmet, np.int32)
        # By key: int32[R], the selectors of its R requirements; int32[R], by how many a label with the key
        # changes what they leave unmet; and with which values it does, None = with any.
        self._by_key = {
            key: (
                np.array(numbers, np.int32),
                np.array(changes, np.int32),
                [requirement.values or None for requirement in requirements],
            )
            for key, (numbers, changes, requirements) in by_key.items()
        }

    def match(self, labels: Mapping[str, str]) -> Bools:
        """bool[S]: whether each selector matches ``labels``."""
        unmet = self._unmet.copy()
        for key in labels.keys() & self._by_key.keys():
            numbers, changes, values = self._by_key[key]
            value = labels[key]
            matter = [at for at, some in enumerate(values) if some is None or value in some]
            np.add.at(unmet, numbers[matter], changes[matter])
        return np.equal(unmet, 0)


NOTHING = LabelMatcher(nothing=True)
"""Matches no labels."""

EVERYTHING = LabelMatcher()
"""Matches any labels."""


def having(labels: Mapping[str, str]) -> LabelMatcher:
    """Return a matcher that requires all of ``labels``."""
    return LabelMatcher(tuple(Requirement(key, "In", frozenset((value,))) for key, value in labels.items()))


def compiled(selector: LabelSelector | None) -> LabelMatcher:
    """Compile ``selector``; an absent one matches nothing, an empty one everything.

    Raises:
        SelectorError: A key, an operator or a value is not allowed.
    """
    if selector is None:
        return NOTHING
    expressions = [_requirement(expression) for expression in selector.match_expressions]
    matcher = LabelMatcher((*having(selector.match_labels).requirements, *expressions))
    for fault in _faults(matcher):
        raise SelectorError(fault)
    return matcher


def parsed(text: str) -> LabelMatcher:
    """Compile a selector as kubectl takes it: ``app=web,tier!=db,zone in (a, b),!gpu``; "" matches all.

    Raises:
        SelectorError: It is not a selector, or too long.
    """
    if len(text) > MAX_SELECTOR:
        raise SelectorError(f"has {len(text)} characters, and may have {MAX_SELECTOR}")
    requirements = tuple(_parsed(part.strip()) for part in _COMMA.split(text)) if text.strip() else ()
    matcher = LabelMatcher(requirements)
    for fault in _faults(matcher):
        raise SelectorError(fault)
    return matcher


_COMMA = re.compile(r",(?![^(]*\))")
"""Between two conditions, not between the values of one."""

_EQUALITY = re.compile(r"([^\s=!()]+)\s*(==|=|!=)\s*([^\s=!()]*)")
_SET = re.compile(r"([^\s=!()]+)\s+(in|notin)\s*\(([^()]*)\)")
_EXISTENCE = re.compile(r"(!?)\s*([^\s=!()]+)")


def _parsed(text: str) -> Requirement:
    """Return the condition that one part of a selector's text is."""
    if found := _EQUALITY.fullmatch(text):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", frozenset((found[3],)))
    if found := _SET.fullmatch(text):
        values = frozenset(value.strip() for value in found[3].split(","))
        return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EXISTENCE.fullmatch(text):
        return Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    raise SelectorError(f"{text!r} is not one of KEY=VALUE, KEY!=VALUE, KEY in (VALUE, ...), KEY and !KEY")


def _requirement(expression: LabelSelectorRequirement) -> Requirement:
    return Requirement(expression.key, expression.operator, frozenset(expression.values))


def _faults(matcher: LabelMatcher) -> Iterator[str]:
    for requirement in matcher.requirements:
        if not is_qualified_name(requirement.key):
            yield f"{requirement.key!r} is not a label key"
        if requirement.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield f"{requirement.operator!r} is not an operator; use In, NotIn, Exists or DoesNotExist"
        elif bool(requirement.values) != (requirement.operator in ("In", "NotIn")):
            needed = "needs values" if not requirement.values else "takes no values"
            yield f"{requirement.operator} of {requirement.key!r} {needed}"
        yield from (
            f"{value!r} is not a label value" for value in requirement.values if not is_label_value(value)
        )
