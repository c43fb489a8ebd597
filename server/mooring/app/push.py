"""The watcher of ``mooring push``: a source, the log of its changes, and the replicas."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from mooring.app.options import PushOptions
from mooring.app.sources import api_server_of, source_of
from mooring.cluster.kinds import KINDS
from mooring.cluster.sources import KubernetesSource, PushSource, Source
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import NEWEST_GATES
from mooring.pushing.log import PushLog
from mooring.pushing.replica import Watched
from mooring.pushing.replicas import LOOK_UP_SECONDS, Connect, Replicas
from mooring.serving.listeners.page_listener import PageListener
from mooring.serving.listeners.probes import Probes
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import RequestMetrics
from mooring.telemetry.scraped_metrics import source_metrics

LOOK_SECONDS: Final = 0.1
"""Between two reads of the state's changes: those of one read are one call of each replica."""


def push(
    options: PushOptions,
    connect: Connect,
    stop: threading.Event,
    on_ready: Callable[[Mapping[str, str]], None],
) -> None:
    """Push until ``stop`` is set.

    Args:
        options: The source and the replicas.
        connect: Connects to a replica.
        stop: Ends it.
        on_ready: Called with the address of the metrics once they can be read.

    Raises:
        InvalidArgumentError: The source can't be used.
        ListenError: The metrics' address can't be listened on.
    """
    state, metrics = State(), Metrics()
    source = _source_of(options, state, metrics)
    log = PushLog(state)
    watched = Watched(options.name, source, log)
    replicas = Replicas(options.replicas, watched, connect)
    metrics.scrape(lambda: source_metrics(source.describe()))
    metrics.scrape(replicas.metrics)
    probes = Probes(lambda: "", lambda: watched.silent)
    pages = PageListener(
        options.metrics_listen, probes, metrics.registry, broken=metrics.broken_connections.inc
    )
    with ExitStack() as running:
        pages.start()
        running.callback(pages.stop)
        source.start()
        running.callback(source.stop)
        running.callback(replicas.stop)
        names = threading.Thread(target=_look_up, args=(replicas, stop), name="names", daemon=True)
        names.start()
        running.callback(names.join, LOOK_UP_SECONDS)
        on_ready({"metrics": pages.address})
        while not stop.wait(LOOK_SECONDS):
            log.read_changes()


def _look_up(replicas: Replicas, stop: threading.Event) -> None:
    while not stop.is_set():
        replicas.look_up()
        stop.wait(LOOK_UP_SECONDS)


def _source_of(options: PushOptions, state: State, metrics: Metrics) -> Source:
    """Return the source. A live one follows every kind: what replicas read is theirs to know."""
    api = api_server_of(options.source, options.kubeconfig, RequestMetrics(metrics), in_cluster=False)
    if options.source.partition(":")[0] == "kubernetes" and api is not None:
        return KubernetesSource(state, api, {kind: ["the replicas"] for kind in KINDS})
    source = source_of(options.source, state, api, (), NEWEST_GATES)
    if isinstance(source, PushSource):
        raise InvalidArgumentError.at("--source", "push delivers nothing by itself; name a cluster or files")
    return source
