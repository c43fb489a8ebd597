"""An engine over manifests, for the commands that work offline."""

from __future__ import annotations

import argparse
import logging

from mooring.cli.assembly import configuration_of, registry_of
from mooring.cli.options import Option
from mooring.cluster.binding import LocalBinder
from mooring.cluster.manifests import Manifests, load_manifests
from mooring.cluster.state import State
from mooring.framework import Gates, KubeVersion
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.engine import Engine

log = logging.getLogger(__name__)


def engine_over(args: argparse.Namespace, options: tuple[Option, ...]) -> tuple[Engine, Manifests]:
    """The engine that ``args`` configure, over the objects of ``--manifests``.

    Raises:
        InvalidArgumentError: A manifest can't be used; every fault is named.
    """
    registry = registry_of(args, options)
    configuration = configuration_of(args, registry)
    manifests = load_manifests(args.manifests)
    if manifests.skipped:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(manifests.skipped.items()))
        log.warning("nobody reads objects of these kinds: %s", kinds)
    rules = ResourceRules.of(Gates(KubeVersion.parse(args.kube_version), args.feature_gates))
    state = State(rules=rules)
    state.replace("manifests", manifests.objects)
    engine = build_engine(
        configuration,
        registry,
        state,
        LocalBinder(state),
        kube_version=args.kube_version,
        feature_gates=args.feature_gates,
    )
    return engine, manifests
