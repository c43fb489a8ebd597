"""The log lines of a server's start, at kube-scheduler's verbosity."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Mapping

from mooring import __version__, config

log = logging.getLogger("mooring.start")

FLAGS = logging.INFO - 1

EFFECTIVE = logging.INFO - 2
"""The level of the configuration that no file gave, and of the plugins in force."""


def version_of(kube_version: str) -> str:
    """Return what runs: mooring's version, the Kubernetes release that it follows, and Python's version."""
    return f"mooring {__version__} (Kubernetes {kube_version}, Python {platform.python_version()})"


def log_flags(values: Mapping[str, str], kube_version: str) -> None:
    """Write the flags, by name without the dashes, and the version to the log."""
    for name, value in values.items():
        log.log(FLAGS, 'FLAG: --%s="%s"', name, value)
    log.info("Starting %s", version_of(kube_version))


def log_configuration(configuration: config.Configuration, *, configured: bool, scheduling: bool) -> None:
    """Write the configuration in force to the log: what is acted on, with every default, as one JSON record.

    It is written always when a file was given (``configured``), else at level 2, as the plugins by profile
    and point are. ``mooring scheduler`` acts on more than other commands (``scheduling``).
    """
    document = json.dumps(config.in_force(configuration, scheduling=scheduling), separators=(",", ":"))
    log.log(logging.INFO if configured else EFFECTIVE, "Using component config: %s", document)
    for profile in configuration.profiles:
        for point, plugins in profile.plugins.items():
            names = [f"{plugin.name}={plugin.weight}" if plugin.weight else plugin.name for plugin in plugins]
            if names:
                log.log(EFFECTIVE, "profile %s: %s: %s", profile.scheduler_name, point, " ".join(names))
        if profile.unsupported:
            log.warning(
                "profile %s: ignored by mooring: %s",
                profile.scheduler_name,
                ", ".join(profile.unsupported),
            )
