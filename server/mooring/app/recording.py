"""The recorder of a server, a scheduler or an observer, put together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from mooring.app.decisions import RECORDED_CHANGES, DecisionMemory
from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions, ProcessOptions, RecordingOptions
from mooring.app.signals import wait_for_signal
from mooring.app.sources import readers_of
from mooring.cluster.api import ApiServer
from mooring.cluster.sources import KubernetesSource
from mooring.config.show import dump, plain
from mooring.decisions.decisions import Decisions
from mooring.framework.errors import InvalidArgumentError
from mooring.plugin_hosts.hosts import connections
from mooring.plugin_hosts.noted import RECORDED, answer_notes
from mooring.recordings.recorder import LOOK_SECONDS, Recorded, Recorder
from mooring.service.wire.decision_messages import write_decision
from mooring.telemetry.metrics import Metrics
from mooring_client.recording.v1 import recording_pb2 as pb


def start_recording(
    process: ProcessOptions,
    core: Core,
    memory: DecisionMemory,
    metrics: Metrics,
    ready: Callable[[], bool],
    running: ExitStack,
) -> None:
    """Record the process until ``running`` ends, if the options ask for it. Raises InvalidArgumentError if
    nothing can be written there, or no decisions are remembered.
    """
    if not process.recording:
        return
    if memory.decisions is None:
        raise InvalidArgumentError.at(
            "--record-to", "needs the journal; set --decision-journal-bytes above 0"
        )
    recorder = _recorder(process.recording, core, process.engine, memory.decisions, ready)
    metrics.scrape(partial(recording_metrics, recorder))
    answer_notes.set_most(RECORDED)
    recorder.start()
    running.callback(recorder.stop)


def observe(
    options: RecordingOptions,
    engine: EngineOptions,
    api: ApiServer,
    stop: threading.Event,
    on_ready: Callable[[], None],
) -> Recorder:
    """Record a live cluster with whatever scheduler it has until ``stop`` is set; return what was recorded.

    Raises:
        InvalidArgumentError: Nothing can be written there.
        ConfigError, RegistryError: A configuration or a plugin can't be used.
    """
    registry = registry_of(engine)
    core = build_core(engine, registry, configuration_of(engine, registry))
    source = KubernetesSource(core.state, api, readers_of(core.engine.profiles.values()))
    recorder = _recorder(options, core, engine, None, lambda: source.synced)
    source.start()
    recorder.start()
    try:
        while not recorder.entries and not stop.wait(LOOK_SECONDS):
            pass
        on_ready()
        wait_for_signal(stop)
    finally:
        source.stop()
        recorder.stop()
    return recorder


def _recorder(
    options: RecordingOptions,
    core: Core,
    engine: EngineOptions,
    decisions: Decisions | None,
    ready: Callable[[], bool],
) -> Recorder:
    """Return what records the process; without ``decisions`` another scheduler is observed."""
    observed = decisions is None
    scheduler = pb.RECORDED_SCHEDULER_OBSERVED if observed else pb.RECORDED_SCHEDULER_MOORING
    recorded = Recorded(
        state=core.state,
        journal_length=RECORDED_CHANGES,
        decisions=decisions,
        write_decision=write_decision,
        header=lambda: header_of(core, engine, scheduler),
        ready=ready,
    )
    return Recorder(Path(options.directory), recorded, options.limits)


def header_of(
    core: Core, engine: EngineOptions, scheduler: pb.RecordedScheduler.ValueType
) -> pb.RecordingHeader:
    """Return a recording's description of the process."""
    return pb.RecordingHeader(
        kube_version=engine.kube_version,
        feature_gates=dict(engine.feature_gates),
        configuration=dump(plain(core.configuration.document, hide=True)) if engine.config else "",
        scheduler=scheduler,
        plugin_hosts=[
            pb.RecordedPluginHost(address=each.options.address, host_version=each.described.host_version)
            for each in connections()
        ],
    )


def recording_metrics(recorder: Recorder) -> Iterator[Metric]:
    """Yield ``mooring_recording_*``."""
    yield CounterMetricFamily(
        "mooring_recording_entries", "Entries written to the recording.", value=recorder.entries
    )
    yield CounterMetricFamily(
        "mooring_recording_bytes", "Bytes written to the recording.", value=recorder.size
    )
    yield CounterMetricFamily(
        "mooring_recording_dropped",
        "Changes and decisions that are missing in the recording.",
        value=recorder.dropped,
    )
    yield CounterMetricFamily(
        "mooring_recording_errors",
        "How often a file of the recording could not be written.",
        value=recorder.errors,
    )
