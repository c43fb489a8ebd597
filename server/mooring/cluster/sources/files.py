"""Manifest files as a source, read again when they change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from mooring.cluster.manifests import load_manifests
from mooring.cluster.manifests.documents import files_of
from mooring.cluster.sources.static import LoadedSource
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import NEWEST_GATES, Gates

DEFAULT_POLL_SECONDS = 2.0
"""Seconds between two checks; no watcher reports the symlink of a mounted ConfigMap."""

STOP_SECONDS = 2.0
"""How long ``stop`` waits for a look that has begun: a file system may hang."""

_Fingerprint = tuple[tuple[str, str, int, int], ...]


class FilesSource(LoadedSource):
    """Delivers objects from files and directories; when one can't be read the last good load stays.

    Args:
        paths: Files and directories of YAML or JSON.
        gates: Those of the API server that would have filled in what they leave out.
        poll_seconds: Seconds between two polls of the files.
    """

    def __init__(
        self,
        state: State,
        paths: Iterable[str | Path],
        gates: Gates = NEWEST_GATES,
        *,
        poll_seconds: float = DEFAULT_POLL_SECONDS,
    ) -> None:
        self._paths = [Path(path) for path in paths]
        super().__init__(state, "files:" + ",".join(map(str, self._paths)))
        self._gates = gates
        self._poll_seconds = poll_seconds
        self._logger = logging.getLogger(__name__)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: _Fingerprint = ()
        self._warned: set[str] = set()

    def start(self) -> None:
        self._seen = self._fingerprint()
        self._load()
        self._thread = threading.Thread(target=self._follow, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def poll_files(self) -> bool:
        """Read the files once, and load them if they changed; True when a new load is in force."""
        seen = self._fingerprint()
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._load()
        except InvalidArgumentError as error:
            self._error = error.message
            self._logger.error("kept the last good load of %s: %s", self._name, error.message)  # noqa: TRY400
            return False
        self._logger.info("loaded %s again", self._name)
        return True

    def _follow(self) -> None:
        while not self._stopping.wait(self._poll_seconds):
            try:
                self.poll_files()
            except Exception:  # the thread must outlive any error of a file system
                self._logger.exception("can't read %s", self._name)

    def _load(self) -> None:
        manifests = load_manifests(self._paths, self._gates, pipes=False)
        self._state.replace(self._name, manifests.objects)
        self._error = ""
        self._synced = True
        self._warn(manifests.skipped)
        for note in manifests.notes:
            self._logger.warning("%s: %s", self._name, note)

    def _warn(self, skipped: Mapping[str, int]) -> None:
        new = skipped.keys() - self._warned
        if new:
            self._warned |= new
            kinds = ", ".join(f"{kind} ({skipped[kind]})" for kind in sorted(new))
            self._logger.warning("%s: objects of these kinds are ignored: %s", self._name, kinds)

    def _fingerprint(self) -> _Fingerprint:
        """Name, real path, time and size of every file; what is gone is missing here."""
        entries = []
        for path in self._paths:
            for file in files_of(path):
                try:
                    status = file.stat()
                    entries.append((str(file), str(file.resolve()), status.st_mtime_ns, status.st_size))
                except OSError:
                    continue
        return tuple(entries)
