"""The configurations that were in force since the start, as the service shows them."""

from __future__ import annotations

import json
from functools import partial

from mooring import config
from mooring.app.engine import Core
from mooring.config.show import plain
from mooring.service.backend import ConfigurationPeriod


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
