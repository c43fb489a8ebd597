"""Reservations of the profiles, which need the extender's bind verb in kube-scheduler.

kube-scheduler doesn't inform an extender of a reservation. Between filter and its own binding two pods may be
promised the same thing; only when mooring binds, the filters run again under the reservation. kube-scheduler
itself reserves amounts of nodes, apart from resources that it is configured to ignore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mooring.config.arguments import FIT, ignored_resources
from mooring.config.catalog import Catalog
from mooring.config.configuration import EffectiveProfile
from mooring.config.fields import join
from mooring.config.types import ExtenderStanza
from mooring.framework import FieldError

_PROFILE = re.compile(r"/profiles/([^/]+)/?$")
"""The place in a URL prefix that names the adapter's profile."""


def check_reserving(
    profiles: Sequence[EffectiveProfile], extenders: Sequence[ExtenderStanza], catalog: Catalog
) -> Iterator[FieldError]:
    """Yield a fault for each profile that reserves what no extender will bind by it.

    Args:
        profiles: Those that the extenders ask. kube-scheduler reserves for its own plugins itself.
        extenders: kube-scheduler's stanzas; none = mooring isn't called as an extender.
        catalog: The known plugins.
    """
    for index, profile in enumerate(profiles):
        asking = [extender for extender in extenders if _asks(extender, profile.scheduler_name)]
        if not asking or any(extender.bind_verb for extender in asking):
            continue
        ours = [plugin.name for plugin in profile.plugins["reserve"] if plugin.name not in catalog.upstream]
        if ours:
            yield FieldError(
                join("profiles", index, "plugins", "reserve"),
                f"{', '.join(ours)} reserves, so an extender that asks this profile needs bindVerb: "
                "without it kube-scheduler binds by itself, and two pods can get the same thing",
            )


def check_ignored(
    profiles: Sequence[EffectiveProfile], extenders: Sequence[ExtenderStanza]
) -> Iterator[FieldError]:
    """Yield a fault for each profile that counts what kube-scheduler ignores and no plugin reserves.

    Args:
        profiles: Those that the extenders ask.
        extenders: kube-scheduler's stanzas.
    """
    for resource in dict.fromkeys(ignored_resources(extenders)):
        counting = [profile for profile in profiles if _counts(profile, resource)]
        if any(_holds(extender, resource, profile) for extender in extenders for profile in counting):
            continue
        for index, profile in enumerate(profiles):
            if profile in counting and any(_asks(extender, profile.scheduler_name) for extender in extenders):
                yield FieldError(
                    join("profiles", index, "plugins", "filter"),
                    f"{FIT} counts {resource}, which kube-scheduler ignores, and no plugin reserves it until "
                    "a pod is on its node. So two pods at once may get the same amount: leave "
                    "ignoredByScheduler out, or let the extender of this profile bind",
                )


def _counts(profile: EffectiveProfile, resource: str) -> bool:
    args = profile.args[FIT] if any(plugin.name == FIT for plugin in profile.plugins["filter"]) else None
    if args is None:
        return False
    group = resource.partition("/")[0]
    return resource not in args.ignored_resources and group not in args.ignored_resource_groups


def _holds(extender: ExtenderStanza, resource: str, profile: EffectiveProfile) -> bool:
    """Return whether the extender binds all pods that want the resource, and asks the profile again then."""
    managed = [one.name for one in extender.managed_resources]
    return (
        bool(extender.bind_verb)
        and _asks(extender, profile.scheduler_name)
        and (not managed or resource in managed)
    )


def _asks(extender: ExtenderStanza, profile: str) -> bool:
    """Return whether the extender may ask the profile: its path names it, or none, and leaves it to the
    adapter.
    """
    named = _PROFILE.search(extender.url_prefix)
    return named is None or named[1] == profile
