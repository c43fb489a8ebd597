"""What a server says about itself when it starts."""

from __future__ import annotations

import logging

from mooring import config
from mooring.cli.assembly import Assembly

log = logging.getLogger("mooring.start")

EFFECTIVE = logging.INFO - 2
"""Level 2, where kube-scheduler writes its configuration too."""


def log_start(assembly: Assembly, *, configured: bool) -> None:
    """Write to the log what is in force: the state of the source, and the configuration."""
    log.info("%s", assembly.describe())
    log_configuration(assembly.configuration, configured=configured)


def log_configuration(configuration: config.Configuration, *, configured: bool) -> None:
    """Write to the log what was configured.

    The plugins by profile and point at level 2; the configuration with every default always when a file was
    given (``configured``), else at level 2.
    """
    for line in config.show(configuration).splitlines():
        log.log(logging.INFO if configured else EFFECTIVE, "configuration: %s", line)
    for profile in configuration.profiles:
        for point, plugins in profile.plugins.items():
            names = [f"{plugin.name}={plugin.weight}" if plugin.weight else plugin.name for plugin in plugins]
            if names:
                log.log(EFFECTIVE, "profile %s: %s: %s", profile.scheduler_name, point, " ".join(names))
