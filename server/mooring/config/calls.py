"""Requirements of mooring's adapter on kube-scheduler's extender stanzas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from mooring.config.fields import join
from mooring.config.types import ExtenderStanza
from mooring.framework import FieldError

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
