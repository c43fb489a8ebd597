"""Connects the service to parts of the cluster package: objects, pushed events, configurations, plugins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from mooring import config
from mooring.app.engine import Core
from mooring.cluster.decoding import (
    decode_json,
    decode_kind_protobuf,
    decode_protobuf,
    decode_sent,
    has_uid,
    has_uid_protobuf,
)
from mooring.cluster.kinds import Change, ClusterObject, Put, Remove, default_uid
from mooring.cluster.sources import PushSource, SnapshotBegin, SnapshotEnd
from mooring.cluster.sources.push import PushEvent, PushFreshness
from mooring.config import POINTS
from mooring.config.show import plain
from mooring.framework import Node, Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.points import points_of
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.runtime.profiles.plugin_checks import PluginDefinitionError
from mooring.runtime.profiles.registry import Registry, RegistryError
from mooring.service.backend import ConfigurationPeriod, PluginEntry, PushResult
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import simulation_service_pb2 as simulation_pb

_SOURCE_NAME = re.compile(r"[a-z0-9-]{1,63}")
_LONGEST_SESSION = 128
_SMALL_POD, _KEPT_PODS = 1 << 14, 1 << 8
"""Bytes up to which a decoded pod is kept for the next call, and how many are."""


ObjectT = TypeVar("ObjectT", Node, Pod)


class Decoder:
    """Implements ``mooring.service.backend.ObjectDecoder``."""

    def pod(self, encoding: str, data: bytes, path: str) -> Pod:
        decode = _decoded_again if len(data) <= _SMALL_POD else _decoded
        try:
            return decode(encoding, data, Pod)
        except InvalidArgumentError as error:
            raise _at(f"{path}.{encoding}", error) from error

    def committed_pod(self, encoding: str, data: bytes, path: str) -> Pod:
        pod = self.pod(encoding, data, path)
        # A pod without a UID has got this one.
        if pod.metadata.uid == default_uid("Pod", pod.metadata.namespace, pod.metadata.name):
            known = has_uid if encoding == "json" else has_uid_protobuf
            if not known(data, Pod):
                raise InvalidArgumentError.at(
                    f"{path}.{encoding}.metadata.uid", "is missing; what is committed needs one"
                )
        return pod

    def node(self, encoding: str, data: bytes, path: str) -> Node:
        try:
            return _decoded(encoding, data, Node)
        except InvalidArgumentError as error:
            raise _at(f"{path}.{encoding}", error) from error


def read_changes(
    changes: Sequence[simulation_pb.SessionChange],
) -> tuple[Sequence[Change], tuple[str, ...]]:
    """Read the changes of a session, with warnings about ignored fields. Raises InvalidArgumentError if one
    is malformed.
    """
    skipped: dict[str, None] = {}
    found: list[Change] = []
    for at, change in enumerate(changes):
        kind, path = change.WhichOneof("change"), f"changes[{at}]"
        if kind == "put":
            found.extend(_puts(change.put, f"{path}.put", skipped))
        elif kind == "remove":
            found.append(_removal(change.remove, f"{path}.remove"))
        else:
            raise InvalidArgumentError.at(path, "has no change; set put or remove")
    return found, _ignored(skipped)


def _decoded(encoding: str, data: bytes, kind: type[ObjectT]) -> ObjectT:
    return decode_sent(data, kind) if encoding == "json" else decode_kind_protobuf(data, kind)


_decoded_again: Callable[[str, bytes, type[Pod]], Pod] = lru_cache(_KEPT_PODS)(_decoded)
"""Callers send the same bytes many times: a template in each batch, a pod to Filter and then to Score."""


class PushBridge:
    """Implements ``mooring.service.backend.PushReceiver`` over a push source."""

    def __init__(self, source: PushSource) -> None:
        self._source = source

    def push_objects(self, request: cluster_pb.PushObjectsRequest, client: str) -> PushResult:
        _check(_source_fault(request.source), _session_fault(request.session))
        skipped: dict[str, None] = {}
        events = [_event(event, f"events[{at}]", skipped) for at, event in enumerate(request.events)]
        pushed = self._source.push_objects(
            request.source, request.session, request.first_sequence, events, client, _freshness(request)
        )
        return PushResult(pushed.next_sequence, pushed.applied_count, _ignored(skipped))

    def remove_source(self, request: cluster_pb.RemoveSourceRequest, client: str) -> None:
        _check(_source_fault(request.source))
        self._source.remove_source(request.source, client)


def _source_fault(source: str) -> FieldError | None:
    if _SOURCE_NAME.fullmatch(source):
        return None
    return FieldError("source", f"{source[:80]!r}: 1 to 63 of a-z, 0-9 and - are allowed")


def _session_fault(session: str) -> FieldError | None:
    if 1 <= len(session) <= _LONGEST_SESSION:
        return None
    return FieldError("session", f"must have 1 to {_LONGEST_SESSION} characters")


def _check(*faults: FieldError | None) -> None:
    found = [fault for fault in faults if fault is not None]
    if found:
        raise InvalidArgumentError(found)


def _freshness(request: cluster_pb.PushObjectsRequest) -> PushFreshness | None:
    if not request.HasField("freshness"):
        return None
    told = request.freshness
    if not told.staleness_seconds >= 0:
        raise InvalidArgumentError.at("freshness.staleness_seconds", "must be 0 or more")
    return PushFreshness(told.staleness_seconds, told.doubt)


def _event(event: cluster_pb.PushEvent, path: str, skipped: dict[str, None]) -> PushEvent:
    kind = event.WhichOneof("event")
    if kind == "snapshot_begin":
        return SnapshotBegin()
    if kind == "snapshot_end":
        return SnapshotEnd()
    if kind == "remove":
        return _removal(event.remove, f"{path}.remove")
    if kind == "put":
        return _puts(event.put, f"{path}.put", skipped)
    raise InvalidArgumentError.at(path, "has no event; set one")


def _ignored(skipped: Iterable[str]) -> tuple[str, ...]:
    return (f"objects of these kinds are ignored: {', '.join(skipped)}",) if skipped else ()


def _removal(remove: cluster_pb.RemoveObject, path: str) -> Remove:
    missing = [name for name in ("kind", "name") if not getattr(remove, name)]
    if missing:
        raise InvalidArgumentError(FieldError(f"{path}.{name}", "is missing") for name in missing)
    return Remove(remove.kind, remove.namespace, remove.name, remove.uid)


def _puts(put: cluster_pb.PutObjects, path: str, skipped: dict[str, None]) -> Sequence[Put]:
    if not put.objects:
        raise InvalidArgumentError.at(f"{path}.objects", "is empty; send one or more")
    puts = []
    for at, message in enumerate(put.objects):
        item = _object(message, put, f"{path}.objects[{at}]")
        if item is None:
            skipped[f"{put.api_version} {put.kind}".strip() or "other than the stored ones"] = None
        else:
            puts.append(Put(item))
    return puts


def _object(
    message: objects_pb2.KubernetesObject, put: cluster_pb.PutObjects, path: str
) -> ClusterObject | None:
    encoding = message.WhichOneof("encoding")
    if encoding is None:
        raise InvalidArgumentError.at(path, "has no object; set json or protobuf")
    try:
        if encoding == "json":
            return decode_json(message.json, put.kind, put.api_version)
        return decode_protobuf(message.protobuf, put.kind, put.api_version)
    except InvalidArgumentError as error:
        raise _at(f"{path}.{encoding}", error) from error


def _at(path: str, error: InvalidArgumentError) -> InvalidArgumentError:
    """``error``, with ``path`` before its paths."""
    return InvalidArgumentError(
        FieldError(f"{path}.{violation.path}".rstrip("."), violation.message)
        for violation in error.violations
    )


def configuration_periods(core: Core) -> list[ConfigurationPeriod]:
    """Return those that are remembered, the one in force last."""
    return [
        ConfigurationPeriod(each.hash, begin, partial(profile_documents, each))
        for begin, each in tuple(core.configurations)
    ]


def profile_documents(configuration: config.Configuration) -> dict[str, str]:
    """Return by profile its configuration with every default, as JSON; secrets are hidden."""
    profiles = plain(configuration.document, hide=True)["profiles"]
    return {profile["schedulerName"]: json.dumps(profile) for profile in profiles}


def plugin_entries(registry: Registry) -> Iterator[PluginEntry]:
    """Every plugin that there is, those that can't be loaded or aren't built included."""
    for registration in registry:
        try:
            points = tuple(points_of(registration.plugin_class()))
        except (RegistryError, PluginDefinitionError) as error:
            yield PluginEntry(registration.name, (), registration.source, load_error=str(error))
        else:
            yield PluginEntry(registration.name, points, registration.source)
    for name, missing in UNSUPPORTED.items():
        if name not in registry:
            yield PluginEntry(
                name, tuple(filter(missing.points.__contains__, POINTS)), "in-tree", supported=False
            )
