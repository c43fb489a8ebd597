"""Older configurations and policies, rewritten as the v1 file that a current kube-scheduler reads."""

from __future__ import annotations

from mooring.config.catalog import Catalog
from mooring.config.documents import read_configuration
from mooring.config.errors import ConfigError
from mooring.config.fields import decode
from mooring.config.policy import is_policy, policy_to_v1
from mooring.config.show import dump
from mooring.config.types import KubeSchedulerConfiguration
from mooring.config.unknown import removed_plugins, without_removed_names
from mooring.config.versions import as_v1


def convert(text: str, catalog: Catalog) -> str:
    """Return the v1 file, in YAML, that means what ``text`` meant to the release that read it.

    The text is YAML or JSON of a KubeSchedulerConfiguration from v1beta1 on, of a policy, or of a ConfigMap
    with one. Comments at the head of the file report omissions and new explicit values; defaults that did
    not change are not written out. Raises ConfigError, which names what can't be read or has no counterpart
    in v1.
    """
    document = read_configuration(text)
    converted, notes = policy_to_v1(document, catalog) if is_policy(document) else as_v1(document)
    written, errors = decode(KubeSchedulerConfiguration, converted, "")
    if written is None or errors:
        raise ConfigError(errors)
    gone = tuple(map(str, removed_plugins(written.profiles)))
    head = "".join(f"# {note}\n" for note in (*notes, *gone))
    return head + dump(without_removed_names(converted))
