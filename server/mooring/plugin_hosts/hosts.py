"""The hosts of a process, and their plugins in the registry."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mooring.config.types import PluginHostStanza
from mooring.runtime.profiles.registry import Registry

if TYPE_CHECKING:
    from mooring.plugin_hosts.connection import HostConnection

_connections: dict[PluginHostStanza, HostConnection] = {}
_lock = threading.Lock()


def register_hosts(registry: Registry, hosts: Iterable[PluginHostStanza]) -> None:
    """Add the plugins of ``hosts``, as they are described now, to ``registry``.

    There is one connection to each host for the whole process, however often it is registered.

    Raises:
        InvalidArgumentError: An address is not safe, or a description has faults.
        UnavailableError: A host does not answer.
        RegistryError: A name is taken; the message names both sources.
    """
    for options in hosts:
        # Commands without a host need no gRPC.
        from mooring.plugin_hosts.rules import rule_class

        connection = connection_to(options)
        source = f"plugin host {options.address}"
        for entry in tuple(registry):
            if entry.source == source:
                registry.unregister(entry.name)
        for description in connection.described.plugins:
            registry.register(description.name, rule_class(connection, description), source=source)


def connection_to(options: PluginHostStanza) -> HostConnection:
    """Return the connection to a host, which is opened on first use.

    Raises:
        InvalidArgumentError: Its address is not safe.
        UnavailableError: It does not answer.
    """
    from mooring.plugin_hosts.connection import HostConnection

    with _lock:
        found = _connections.get(options)
        if found is None:
            found = HostConnection(options)
            found.open()
            _connections[options] = found
    return found


def connections() -> Sequence[HostConnection]:
    """Return all that are open."""
    with _lock:
        return tuple(_connections.values())


def close_connections() -> None:
    """End the connections to all hosts."""
    with _lock:
        while _connections:
            _connections.popitem()[1].close()
