"""Files that are followed while the process runs: the configuration here, rights in ``access``."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

from mooring.app.engine import read_text
from mooring.app.plugin_files import PluginFiles
from mooring.config import ConfigError, Configuration
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.framework.state import ClusterState
from mooring.runtime.profiles.registry import RegistryError
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import ReloadMetrics

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two reads of the file: a ConfigMap's mount changes a symlink, which watchers miss."""

STOP_SECONDS = 2.0
"""How long the end of the process waits for a look that has begun."""

RELOADED = ("profiles", "percentage_of_nodes_to_score", "plugin_hosts")
"""The fields that take effect while the process runs."""


NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""The file in which kubelet writes the namespace of a pod."""

TOOK, REJECTED = "ConfigurationReloaded", "ConfigurationRejected"
"""The outcome of a changed file, in one word."""


def _nobody(_reason: str, _note: str) -> None:
    pass


class Settling:
    """Finds out when a file has settled, so that no half-written one counts. For one thread."""

    def __init__(self) -> None:
        self._found: object = None
        self._done: object = None

    def settled(self, found: object) -> bool:
        """Return whether two looks in a row have found the same, not None, for the first time."""
        before, self._found = self._found, found
        if found != before or found == self._done:
            return False
        self._done = found
        return True


@contextmanager
def looking(look: Callable[[], object], name: str) -> Iterator[None]:
    """Call ``look`` again and again in a thread until the ``with`` block ends; don't wait long for a call."""
    stopping = threading.Event()

    def follow() -> None:
        while not stopping.wait(POLL_SECONDS):
            look()

    thread = threading.Thread(target=follow, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(STOP_SECONDS)


class ConfigurationReload:
    """Puts in force what the file says while it changes; a file that can't be used changes nothing.

    A text counts once two looks in a row have found it, so that no file is read that is being written.

    Args:
        in_force: The configuration that was read from it.
        read: Makes a configuration of the file's text.
        apply: Puts a configuration in force.
        tell: Called when the file has changed: with TOOK or REJECTED, and a sentence.
        plugins: Files that count as parts of the configuration; None = no plugin is imported again.
    """

    def __init__(
        self,
        file: str,
        in_force: Configuration,
        read: Callable[[str], Configuration],
        apply: Callable[[Configuration], None],
        metrics: ReloadMetrics,
        *,
        tell: Callable[[str, str], None] = _nobody,
        plugins: PluginFiles | None = None,
    ) -> None:
        self._file = file
        self._in_force = in_force
        self._read = read
        self._apply = apply
        self._metrics = metrics
        self._tell = tell
        self._plugins = plugins
        self._first_code = self._code = self._code_of_plugins()
        self._files = Settling()
        metrics.took(in_force.hash)

    def look(self) -> bool:
        """Read the files once; True when another configuration is in force now. One thread at a time."""
        missing = ""
        try:
            text = read_text(self._file)
        except (InvalidArgumentError, ConfigError) as error:
            # Equals no text that can be read, so that this failure is reported once, too.
            text = missing = f"\0{error}"
        code = self._code_of_plugins()
        if not self._files.settled((text, code)):
            return False
        if missing:
            self._reject(missing.removeprefix("\0"))
            return False
        return self._take(text, code)

    def _code_of_plugins(self) -> str:
        return "" if self._plugins is None else self._plugins.text()

    def _take(self, text: str, code: str) -> bool:
        again = self._plugins if code != self._code else None
        try:
            with again.imported_again() if again else nullcontext():
                found = self._read(text)
                if code != self._first_code:
                    # Nothing that other code answered is found in the cache.
                    found = replace(found, hash=sha256(f"{found.hash}\0{code}".encode()).hexdigest()[:16])
                changed = found.hash != self._in_force.hash
                if changed:
                    self._apply(with_kept_fields(found, self._in_force))
        except (ConfigError, RegistryError, MooringError) as error:
            self._reject(str(error))
            return False
        except Exception as error:  # whatever plugins do when they are made, the last good one stays
            log.exception("%s can't be used", self._file)
            self._reject(str(error))
            return False
        self._code = code
        if changed:
            self._warn(found)
            note = f"configuration {found.hash} replaces {self._in_force.hash}, read from {self._file}"
            log.info("%s", note)
            self._in_force = with_kept_fields(found, self._in_force)
            self._tell(TOOK, note)
        self._metrics.took(found.hash)
        return changed

    def _warn(self, found: Configuration) -> None:
        for warning in found.warnings:
            log.warning("%s: %s", self._file, warning)
        for name in kept_fields(found, self._in_force):
            log.warning("%s: %s: takes effect at the next start", self._file, name)

    def _reject(self, fault: str) -> None:
        note = f"kept configuration {self._in_force.hash}, since {self._file} can't be used: {fault}"
        log.error("%s", note)
        self._metrics.rejected()
        self._tell(REJECTED, note)


@contextmanager
def followed(
    file: str,
    in_force: Configuration,
    read: Callable[[str], Configuration],
    apply: Callable[[Configuration], None],
    metrics: Metrics,
    *,
    tell: Callable[[str, str], None] = _nobody,
    plugins: PluginFiles | None = None,
) -> Iterator[None]:
    """Follow the configuration's file in a ``with`` block, unless it is ""; see ``ConfigurationReload``."""
    reload = ConfigurationReload(
        file, in_force, read, apply, ReloadMetrics(metrics), tell=tell, plugins=plugins
    )
    if not file:
        yield
        return
    with looking(reload.look, "configuration"):
        yield


def own_pod(state: ClusterState, namespace_file: Path = NAMESPACE_FILE) -> Pod | None:
    """Return the pod that this process runs in, as the state knows it; None outside the cluster."""
    try:
        namespace = namespace_file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return state.find_pod(namespace, socket.gethostname())


def kept_fields(found: Configuration, in_force: Configuration) -> list[str]:
    """Return the fields of the file that only a start reads and that differ from those in force."""
    names = (field.name for field in fields(found.document))
    return [
        _as_written(name)
        for name in names
        if name not in RELOADED and getattr(found.document, name) != getattr(in_force.document, name)
    ]


def with_kept_fields(found: Configuration, in_force: Configuration) -> Configuration:
    """Return ``found`` with the values in force for fields that only a start reads."""
    changed = {name: getattr(found.document, name) for name in RELOADED}
    return replace(found, document=replace(in_force.document, **changed))


def _as_written(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
