"""Makes registry, configuration, state and engine from options. No other module makes all of them."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mooring import config
from mooring.app.lock_watch import LockWatch
from mooring.app.options import EngineOptions
from mooring.cluster.binding import LocalBinder
from mooring.cluster.state import State
from mooring.files import read_file
from mooring.framework import Binder, ClusterApi
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.node_table import new_first_epoch
from mooring.framework.pod_requests import ResourceRules
from mooring.plugin_hosts.hosts import register_hosts
from mooring.runtime.answers import Observer
from mooring.runtime.assembly import ProfileBuilder
from mooring.runtime.engine import Engine
from mooring.runtime.measuring import Measuring
from mooring.runtime.profiles.extender import Extender
from mooring.runtime.profiles.profiles import Profiles
from mooring.runtime.profiles.registry import Registry, installed_registry
from mooring.runtime.tuning import SELF_CHECK_EVERY

log = logging.getLogger(__name__)

MOST_CONFIGURATIONS = 16
"""Configurations that are remembered, so that decisions of before can be understood."""


def registry_of(options: EngineOptions) -> Registry:
    """In-tree plugins, installed packages, ``--plugin``, ``--plugin-host`` and the embedding program's own.

    Raises:
        RegistryError: Two have the same name, or one can't be loaded.
        UnavailableError: A host of plugins does not answer.
    """
    registry = installed_registry()
    for reference in options.plugins:
        registry.register_reference(reference)
    register_hosts(registry, options.plugin_hosts)
    for change in options.embedded:
        change(registry)
    return registry


def read_text(file: str, *, pipe: bool = False) -> str:
    """Return the text of a file; of ``FILE#KEY`` that under a key of an object in it, such as a ConfigMap.
    ``pipe`` as of ``read_file``.

    Raises:
        InvalidArgumentError: It can't be read, is too large, or is not text.
        ConfigError: There is not one text under the key.
    """
    name, _, key = file.partition("#")
    try:
        text = read_file(name, pipe=pipe).decode()
        return config.text_under(text, key) if key else text
    except OSError as error:
        raise InvalidArgumentError.at(file, f"can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidArgumentError.at(file, "is not text in UTF-8") from None


def configuration_of(
    options: EngineOptions, registry: Registry, *, scheduling: bool = False, pipe: bool = False
) -> config.Configuration:
    """Load the options' file, or the defaults; warnings go to the log.

    ``mooring scheduler`` acts on fields that nothing else acts on (``scheduling``). ``pipe`` as of
    ``read_file``. Raises ConfigError if it has faults; all of them are named.
    """
    if options.config:
        loaded = parse_configuration(
            read_text(options.config, pipe=pipe), options, registry, scheduling=scheduling
        )
    else:
        version, gates = options.kube_version, options.feature_gates
        loaded = config.default(registry.catalog(), kube_version=version, feature_gates=gates)
    for warning in loaded.warnings:
        log.warning("%s: %s", options.config or "configuration", warning)
    return loaded


def parse_configuration(
    text: str, options: EngineOptions, registry: Registry, *, scheduling: bool = False
) -> config.Configuration:
    """Make a configuration of a file's text; ``scheduling`` as in ``configuration_of``.

    The plugins of the hosts that it names come into ``registry``.

    Raises:
        ConfigError: It has faults; all of them are named.
        UnavailableError: A host of plugins does not answer.
    """
    register_hosts(registry, config.plugin_hosts(text))
    return config.load(
        text,
        registry.catalog(),
        kube_version=options.kube_version,
        feature_gates=options.feature_gates,
        scheduling=scheduling,
        stubs=options.stubs,
    )


@dataclass(slots=True)
class Core:
    """An engine with the parts it was built from.

    Attributes:
        state: The cluster, empty at first.
        builder: Makes the profiles of another configuration.
        measuring: Keeps the measured values that the configuration's plugins read; a program that serves
            starts and stops it.
        configurations: The last ones that came into force, with the time in seconds since the epoch.
        lock_watch: Whether the state's lock can be had; a program that serves enters it.
    """

    registry: Registry
    configuration: config.Configuration
    state: State
    engine: Engine
    builder: ProfileBuilder
    measuring: Measuring = field(init=False)
    configurations: deque[tuple[float, config.Configuration]] = field(
        init=False, default_factory=lambda: deque(maxlen=MOST_CONFIGURATIONS)
    )

    lock_watch: LockWatch = field(init=False)

    def __post_init__(self) -> None:
        self.lock_watch = LockWatch(self.state.lock)
        self.measuring = Measuring(self.builder.handle)
        self.measuring.follow(self.engine.profiles.values())
        self.configurations.append((time.time(), self.configuration))

    def register(self, registry: Registry) -> None:
        """Make the plugins of later configurations by another registry."""
        self.registry, self.builder = registry, replace(self.builder, registry=registry)

    def reconfigure(self, configuration: config.Configuration, profiles: Profiles) -> None:
        """Decide by another configuration from now on; decisions that have begun end with their own. Raises
        InvalidArgumentError if its plugins measure in a way that can't be; nothing has changed.
        """
        self.measuring.follow(profiles.values())
        self.configuration = configuration
        self.engine.profiles = profiles
        self.configurations.append((time.time(), configuration))


def build_core(
    options: EngineOptions,
    registry: Registry,
    configuration: config.Configuration,
    binder: Callable[[State], Binder] = LocalBinder,
    *,
    cluster: ClusterApi | None = None,
    observer: Observer | None = None,
    extenders: Sequence[Extender] = (),
    exclusive: bool = False,
) -> Core:
    """Build an engine over a new state that follows the release and the gates of ``options``.

    Args:
        options: The release to follow, and how often it checks itself.
        registry: The plugins that there are.
        configuration: The configuration in force.
        binder: Makes what binds, given the state; by default pods are bound in the state alone.
        cluster: The API server in the plugins' handle; None = there is none.
        observer: Records measurements.
        extenders: Take part in every decision, in this order.
        exclusive: As in ``Engine``.

    Raises:
        RegistryError: A plugin can't be loaded or made.
        InvalidArgumentError: A plugin measures in a way that can't be.
    """
    state = State(first_epoch=new_first_epoch(), rules=ResourceRules.of(options.gates))
    every = options.self_check_every
    builder = ProfileBuilder.over(
        registry,
        state,
        binder(state),
        kube_version=options.kube_version,
        feature_gates=options.feature_gates,
        observer=observer,
        cluster=cluster,
        extenders=extenders,
    )
    engine = Engine(
        state,
        builder.build(configuration),
        observer,
        exclusive=exclusive,
        self_check_every=SELF_CHECK_EVERY if every is None else every,
    )
    return Core(registry, configuration, state, engine, builder)
