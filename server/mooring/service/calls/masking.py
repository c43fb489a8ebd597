"""Masks names in answers: a client sees the pods of its namespaces, and of others only amounts and nodes.

It is a pass over every answer before it leaves, so that no servicer can forget it. Three rules hold:

- A message about a hidden pod or namespace is masked as a whole: names, owners, labels and texts.
  Nodes, plugins and amounts stay.
- NAMESPACE/NAME is masked in every text, of pods, claims, budgets and groups alike.
- The same holds for errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import grpc
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.serving.access.access import Sight, asking_sight
from mooring.serving.calls.layers import Behavior

HIDDEN: Final = "<hidden>"
"""Stands for a name. It is not a legal name."""

PLAIN: Final = frozenset(
    {
        *("node", "nodes", "nominated_node", "runner_up_node", "assigned_node", "preemption_node"),
        *("plugin", "plugins", "rejecting_plugins", "profile", "configuration_hash", "server_id", "trace_id"),
        *("journal_id", "next_page_token", "gated_by", "woken_by", "resource"),
    }
)
"""Fields that name no pod, namespace or owner, and stay in masked messages."""

SUBJECTS: Final = ("pod", "decision", "first", "second")
"""Fields with the subject of their message."""

SUMS: Final = frozenset({"GetTimeLineResponse"})
"""Answers that add up decisions about all pods, unless the request names a namespace. All their texts are
masked: they may have names without a namespace."""

_PATH: Final = re.compile(r"[\w.\-]+(?:/[\w.\-]+)+")
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
"""The form of a namespace."""


def masked(behavior: Behavior) -> Behavior:
    """Mask what the client may not see in the answers and errors of a method."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        sight = asking_sight()
        if sight.everything:
            return behavior(request, context)
        mask = Mask(sight)
        try:
            response = behavior(request, context)
        except MooringError as error:
            raise mask.error(error) from None
        if isinstance(response, Iterator):
            return _each(response, mask)
        return mask.message(response, hidden=response.DESCRIPTOR.name in SUMS and not request.namespace)

    return call


def _each(parts: Iterator[Any], mask: Mask) -> Iterator[Any]:
    try:
        for part in parts:
            yield mask.message(part)
    except MooringError as error:
        raise mask.error(error) from None


class Mask:
    """Masks the names that a client may not see. For the answers of one call. It sees the pods of some
    namespaces (``sight``).
    """

    def __init__(self, sight: Sight) -> None:
        self._sees: Callable[[str], bool] = cache(sight.__contains__)

    def message(self, message: Any, *, hidden: bool = False) -> Any:
        """Return ``message`` without the names that the client may not see; ``hidden`` = without any."""
        if not _has_names(message.DESCRIPTOR):
            return message
        # Answers may share messages with those to others.
        masked = type(message)()
        masked.CopyFrom(message)
        self._mask(masked, hidden=hidden)
        return masked

    def text(self, text: str) -> str:
        """Return a text without the names that the client may not see."""
        return _PATH.sub(self._path, text) if "/" in text else text

    def error(self, error: MooringError) -> MooringError:
        """Return ``error`` with masked texts."""
        error.message = self.text(error.message)
        error.metadata = {key: self.text(value) for key, value in error.metadata.items()}
        if isinstance(error, InvalidArgumentError):
            error.violations = tuple(
                FieldError(each.path, self.text(each.message)) for each in error.violations
            )
        return error

    def _path(self, found: re.Match[str]) -> str:
        """Mask NAMESPACE/NAME, also behind a kind; a name with a domain, such as of a label, stays."""
        parts = found[0].split("/")
        if "." in parts[0] or all(part.isdecimal() for part in parts):
            return found[0]
        for part in parts[:-1]:
            if _LABEL.fullmatch(part):
                return found[0] if self._sees(part) else HIDDEN
        return found[0]

    def _mask(self, message: Any, *, hidden: bool) -> None:
        hidden = hidden or self._is_hidden(message)
        for field, value in message.ListFields():
            if field.message_type is not None:
                self._mask_inner(message, field, field.message_type, value, hidden=hidden)
            elif field.name in PLAIN:
                continue
            elif field.type == FieldDescriptor.TYPE_BYTES and hidden:
                message.ClearField(field.name)
            elif field.type == FieldDescriptor.TYPE_STRING:
                change = _hide if hidden else self.text
                if field.is_repeated:
                    value[:] = list(map(change, value))
                elif (shown := change(value)) != value:
                    setattr(message, field.name, shown)

    def _mask_inner(
        self, message: Any, field: FieldDescriptor, kind: Descriptor, value: Any, *, hidden: bool
    ) -> None:
        if not _has_names(kind):
            return
        if kind.GetOptions().map_entry:
            # Labels and the like, which belong to their message.
            if hidden and kind.fields_by_name["value"].type == FieldDescriptor.TYPE_STRING:
                message.ClearField(field.name)
            return
        for inner in value if field.is_repeated else (value,):
            self._mask(inner, hidden=hidden)

    def _is_hidden(self, message: Any) -> bool:
        """Return whether a message is about a pod or a namespace that the client may not see."""
        namespace = getattr(message, "namespace", "")
        if namespace and not self._sees(namespace):
            return True
        fields = message.DESCRIPTOR.fields_by_name
        subjects = (name for name in SUBJECTS if name in fields and fields[name].message_type is not None)
        return any(self._is_hidden(getattr(message, name)) for name in subjects)


def _hide(text: str) -> str:
    return HIDDEN if text else text


@cache
def _has_names(kind: Descriptor) -> bool:
    """Return whether a message of this kind, or one within it, may have a name."""
    return _leads_to_names(kind, frozenset())


def _leads_to_names(kind: Descriptor, above: frozenset[str]) -> bool:
    if kind.full_name in above:
        return False
    above |= {kind.full_name}
    return any(
        _leads_to_names(field.message_type, above)
        if field.message_type is not None
        else field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
        and field.name not in PLAIN
        for field in kind.fields
    )
