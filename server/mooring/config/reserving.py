"""Requirements of mooring's adapter on kube-scheduler's extender stanzas; reservations need the bind verb.

kube-scheduler doesn't inform an extender of a reservation. Between filter and its own binding two pods may be
promised the same thing; only when mooring binds, the filters run again under the reservation. kube-scheduler
itself reserves amounts of nodes, apart from resources that it is configured to ignore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

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
    """Yield a fault for each profile that reserves what no extender will bind by it. The extenders ask these
    profiles; kube-scheduler reserves for its own plugins itself. Without stanzas mooring isn't called as an
    extender.
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
    """Yield a fault for each profile that counts what kube-scheduler ignores and no plugin reserves. The
    extenders ask these profiles.
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
    """Return whether the extender may ask the profile: its path names it, or leaves it to the adapter."""
    named = _PROFILE.search(extender.url_prefix)
    return named is None or named[1] == profile


_VERBS = {
    "filter_verb": "filter",
    "prioritize_verb": "prioritize",
    "preempt_verb": "preempt",
    "bind_verb": "bind",
}
"""The verbs that the adapter serves, by the stanza's attributes."""

_LONG = timedelta(seconds=10)


def check_calls(extenders: Sequence[ExtenderStanza]) -> Iterator[FieldError]:
    """Yield a fault for each call that the adapter would not answer."""
    for index, extender in enumerate(extenders):
        path = join("extenders", index)
        if not extender.url_prefix.startswith(("http://", "https://")):
            yield FieldError(join(path, "urlPrefix"), "must begin with http:// or https://")
        if not any(getattr(extender, attribute) for attribute in _VERBS):
            yield FieldError(path, "has no verb, so it is never called")
        for attribute, served in _VERBS.items():
            verb = getattr(extender, attribute)
            where = join(path, f"{served}Verb")
            if verb.startswith("/"):
                yield FieldError(where, f"begins with /, so // is called; write {served}")
            elif verb and verb.removesuffix("/") != served:
                yield FieldError(where, f"the adapter serves {served}, not {verb}")


def advise_on_calls(extenders: Sequence[ExtenderStanza]) -> Iterator[str]:
    """Yield a sentence for each thing that works, but badly."""
    for index, extender in enumerate(extenders):
        path = join("extenders", index)
        if not extender.node_cache_capable:
            yield f"{path}.nodeCacheCapable: false sends each node whole in each call; names would do"
        if extender.http_timeout > _LONG:
            yield f"{path}.httpTimeout: one pod may delay all others for this long when the adapter is stuck"
        tls = extender.tls_config
        if extender.enable_https and (tls is None or not (tls.insecure or tls.ca_file or tls.ca_data)):
            yield f"{path}.tlsConfig: without caFile only certificates of the system's CAs are accepted"
        if extender.ignorable and extender.bind_verb:
            yield f"{path}.ignorable: pods are placed without this extender while it is down, though it binds"
