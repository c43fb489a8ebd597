"""Recordings decided again: the engines for it, and what comes out, summed up."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mooring import config
from mooring.app.engine import build_core, configuration_of, parse_configuration, registry_of
from mooring.app.options import EngineOptions
from mooring.app.scheduler import backoff_times
from mooring.cluster.binding import LocalBinder
from mooring.plugin_hosts.hosts import connections
from mooring.plugin_hosts.noted import answer_notes
from mooring.recordings.decoding import Advance
from mooring.recordings.segments import RecordingError, header_of_recording
from mooring.replay.again import Again, Compared, Ending, Skipped, Step
from mooring.replay.lives import Lives
from mooring.runtime.assembly import build_engine
from mooring.runtime.profiles.registry import Registry
from mooring_client.recording.v1 import recording_pb2 as pb


@dataclass(slots=True)
class Tally:
    """The results of all decisions of a recording.

    Attributes:
        then: The recorded release and configuration, as text.
        now: The release and configuration of the replay, as text.
        endings: How many ended in which way.
        causes: How many of those that differ have each cause.
        skipped: How many can't be made again, by why.
        answering: How many answers of hosts differ from the recorded ones, by plugin.
        hosts: The hosts that have another version than they had, in words.
        damage: The place from which the recording can't be read; None when all of it was read.
    """

    then: str
    now: str
    endings: Counter[Ending] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    answering: Counter[str] = field(default_factory=Counter)
    hosts: Sequence[str] = ()
    damage: RecordingError | None = None

    @property
    def compared(self) -> int:
        """How many decisions were made again."""
        return self.endings.total()

    @property
    def differing(self) -> int:
        """How many came out differently, ties aside."""
        return self.compared - self.endings[Ending.SAME] - self.endings[Ending.TIE]

    def add(self, step: Step) -> None:
        """Count what a step brought."""
        if isinstance(step, Skipped):
            self.skipped[step.why] += step.count
        elif isinstance(step, Compared):
            self.endings[step.ending] += 1
            if step.ending not in (Ending.SAME, Ending.TIE):
                self.causes[step.because or step.reason or "no verdict and no score"] += 1

    def sentence(self) -> str:
        """Return all of it in words."""
        if not self.compared:
            return f"{self.then} → {self.now}: no decision could be made again"
        said = f"{self.then} → {self.now} moves {_percent(self.differing, self.compared)}"
        said += f" of {self.compared:,} decisions"
        if self.causes:
            most = self.causes.most_common(5)
            said += ", because of " + ", ".join(f"{cause} ({count:,})" for cause, count in most)
        if ties := self.endings[Ending.TIE]:
            said += f"; {_percent(ties, self.compared)} go to another one of equally good nodes"
        others = [
            f"{plugin}'s host gives {count:,} other answers" for plugin, count in self.answering.items()
        ]
        return "; ".join([said, *others, *self.hosts])


def _percent(part: int, whole: int) -> str:
    """Return a share with two digits, and with the tenths of the last percent: 100 % is all of it."""
    share = 100 * part / whole
    if part in (0, whole):
        return f"{share:.0f} %"
    return f"{share:.2g} %" if share < 99 else f"{min(share, 99.9):.1f} %"


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording that is about to be decided again. Made by ``replay_of``."""

    tally: Tally
    directory: Path
    again: Again

    def steps(self, advance: Advance = lambda _: None) -> Iterator[Step]:
        """Yield the steps; damage ends them, and is in the tally. ``advance`` as in ``read_recording``."""
        try:
            for step in self.again.decisions(self.directory, advance):
                self.tally.add(step)
                yield step
        except RecordingError as error:
            self.tally.damage = error


def replay_of(directory: Path, options: EngineOptions, *, seed: int | None) -> Replay:
    """Return what decides a recording again.

    Args:
        directory: The recording.
        options: The engine's options. A release, a configuration or gates that are missing ("" and none) are
            those that were recorded.
        seed: Decides between nodes of equal totals; None = each decision's own seed.

    Raises:
        RecordingError: There is no recording, or it is not of a version that is known.
        ConfigError, RegistryError: A configuration or a plugin can't be used.
    """
    header = header_of_recording(directory)
    gates = dict(header.feature_gates)
    # Checks would be made in another thread, and the recording says all that they could find.
    options = replace(options, self_check_every=0)
    then = replace(options, config="", kube_version=header.kube_version, feature_gates=gates)
    now = replace(
        options,
        kube_version=options.kube_version or header.kube_version,
        feature_gates=options.feature_gates or gates,
    )
    registry = registry_of(options)
    core = build_core(now, registry, _configuration(now, header, registry))
    before = None
    if now != then:
        before = build_engine(
            _configuration(then, header, registry),
            registry,
            core.state,
            LocalBinder(core.state),
            kube_version=then.kube_version,
            feature_gates=then.feature_gates,
        )
    observed = header.scheduler == pb.RECORDED_SCHEDULER_OBSERVED
    again = Again(core.engine, core.state, before, seed, observed=observed)
    answer_notes.set_most(sys.maxsize)
    tally = Tally(*_labels(then, now), answering=again.answering, hosts=_other_versions(header))
    return Replay(tally, directory, again)


def _other_versions(header: pb.RecordingHeader) -> list[str]:
    """Return the hosts that have another version than they had, and both versions."""
    now = {each.options.address: each.described.host_version for each in connections()}
    return [
        f"host {each.address} had version {each.host_version!r} and has {now[each.address]!r}"
        for each in header.plugin_hosts
        if now.get(each.address, each.host_version) != each.host_version
    ]


def lives_of(directory: Path, options: EngineOptions, *, seed: int) -> Lives:
    """Return what plays the pods of a recording again; arguments and errors as of ``replay_of``."""
    header = header_of_recording(directory)
    options = replace(
        options,
        kube_version=options.kube_version or header.kube_version,
        feature_gates=options.feature_gates or dict(header.feature_gates),
        self_check_every=0,
    )
    registry = registry_of(options)
    configuration = _configuration(options, header, registry)
    core = build_core(options, registry, configuration, exclusive=True)
    return Lives(core.engine, core.state, options.gates, backoff_times(configuration), seed)


def _labels(then: EngineOptions, now: EngineOptions) -> tuple[str, str]:
    """Return what to call the two."""
    if now == then:
        return "recorded", "replayed"
    changed = [now.kube_version] if now.kube_version != then.kube_version else []
    changed += [now.config] if now.config else []
    changed += [f"{name}={value}".lower() for name, value in now.feature_gates.items()]
    return then.kube_version, " with ".join(changed)


def _configuration(
    options: EngineOptions, header: pb.RecordingHeader, registry: Registry
) -> config.Configuration:
    """Return the configuration of the options, else the recorded one, else the release's default."""
    if options.config or not header.configuration:
        return configuration_of(options, registry, scheduling=True, pipe=True)
    return parse_configuration(header.configuration, options, registry, scheduling=True)
