"""The kinds of plugins that ``mooring plugins new`` writes, and the languages of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PluginKind:
    """A kind of plugin. ``$name`` stands for the plugin in its texts.

    Attributes:
        does: The purpose of such a plugin, as the help text has it.
        args: Its arguments in the configuration, a line of YAML.
    """

    does: str
    args: str
    plugin: str
    test: str


_FILTER = PluginKind(
    "rejects nodes",
    "label: example.com/tier",
    '''\
"""Keep to the nodes whose label the pod asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.framework import SUCCESS, CycleState, FieldError, FilterPlugin, NodeInfo, Pod, Pure, Status


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        label: The node label to compare with the pod's annotation of the same name.
    """

    label: str = "example.com/tier"

    def validate(self) -> Iterable[FieldError]:
        """Yield what is wrong with the values."""
        if not self.label:
            yield FieldError("label", "must not be empty")


class $name(FilterPlugin[${name}Args], Pure):
    """A pod without the annotation may go to any node."""

    name = "$name"
    Args = ${name}Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = pod.metadata.annotations.get(self.args.label)
        if wanted is None or node.labels.get(self.args.label) == wanted:
            return SUCCESS
        return Status.unresolvable(f"node(s) didn't have the {self.args.label} that the pod asks for")
''',
    """\
def test_a_pod_goes_to_the_tier_that_it_asks_for() -> None:
    nodes = [
        node_manifest("n1", labels={"example.com/tier": "gold"}),
        node_manifest("n2", labels={"example.com/tier": "iron"}),
    ]
    pod = pod_manifest("web", metadata={"annotations": {"example.com/tier": "iron"}})
    answer = explain(nodes, pod, CONFIG, plugins=[$name])
    assert answer["selected"] == "n2"
    rejected = answer["nodes"]["n1"]["status"]
    assert (rejected["plugin"], rejected["code"]) == ("$name", "UnschedulableAndUnresolvable")
""",
)

_SCORE = PluginKind(
    "prefers nodes",
    "resource: memory",
    '''\
"""Prefer the nodes with the largest free part of a resource."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import MAX_NODE_SCORE, CycleState, NodeInfo, Pod, Pure, ScorePlugin


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        resource: The resource, such as memory or example.com/gpu.
    """

    resource: str = "memory"


class $name(ScorePlugin[${name}Args], Pure):
    """An empty node has 100 points, a full one none."""

    name = "$name"
    Args = ${name}Args

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered = node.allocatable.get(self.args.resource, 0)
        free = max(0, offered - node.requested.get(self.args.resource, 0))
        return free * MAX_NODE_SCORE // offered if offered else 0
''',
    """\
def test_the_emptier_node_has_more_points() -> None:
    objects = [
        node_manifest("n1", allocatable={"memory": "8Gi"}),
        node_manifest("n2", allocatable={"memory": "8Gi"}),
        pod_manifest("old", node="n1", requests={"memory": "2Gi"}),
    ]
    answer = explain(objects, pod_manifest("web"), CONFIG, plugins=[$name])
    raw = {name: node["scores"]["$name"]["raw"] for name, node in answer["nodes"].items()}
    assert raw == {"n1": 75, "n2": 100}
""",
)

_COUNTING = PluginKind(
    "counts pods by a label, in the racks or zones of nodes",
    "most: 2",
    '''\
"""Limit the pods of one app in each rack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.framework import (
    SUCCESS,
    CycleState,
    FieldError,
    FilterPlugin,
    NodeInfo,
    Pod,
    Pure,
    Status,
    pods_by,
)


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        most: The most pods with the same value of the label ``app`` in a rack.
    """

    most: int = 2

    def validate(self) -> Iterable[FieldError]:
        """Yield what is wrong with the values."""
        if self.most < 1:
            yield FieldError("most", "must be at least 1")


class $name(FilterPlugin[${name}Args], Pure):
    """Nodes without the label of a rack are one rack; pods without the label ``app`` are not limited."""

    name = "$name"
    Args = ${name}Args
    in_rack = pods_by(label="app", topology="example.com/rack", own_namespace=True)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if "app" not in pod.metadata.labels or self.in_rack(pod, node) < self.args.most:
            return SUCCESS
        return Status.unschedulable("node(s) were in a rack with enough pods of the app")
''',
    """\
def test_a_rack_with_enough_pods_is_rejected() -> None:
    objects = [
        node_manifest("a1", labels={"example.com/rack": "a"}),
        node_manifest("a2", labels={"example.com/rack": "a"}),
        node_manifest("b1", labels={"example.com/rack": "b"}),
        pod_manifest("web-1", labels={"app": "web"}, node="a1"),
        pod_manifest("web-2", labels={"app": "web"}, node="a2"),
    ]
    answer = explain(objects, pod_manifest("web-3", labels={"app": "web"}), CONFIG, plugins=[$name])
    assert answer["selected"] == "b1"
""",
)

_MEASURED = PluginKind(
    "reads a value that is measured outside of the cluster",
    "query: node_load5",
    '''\
"""Prefer the nodes for which a query to Prometheus has the lowest values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mooring.framework import (
    CycleState,
    FieldError,
    MeasurementSource,
    NodeInfo,
    Normalizer,
    Pod,
    Pure,
    ScorePlugin,
)
from mooring.measurements import PrometheusQuery

MEASURED = "$name"


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        url: The URL of Prometheus.
        query: The query; it has one series for each node.
    """

    url: str = "http://prometheus.monitoring:9090"
    query: str = "node_load5"

    @property
    def source(self) -> MeasurementSource:
        """The source that is called in the background."""
        return PrometheusQuery(
            name=MEASURED, url=self.url, query=self.query, scale=1000, unmeasured_as_highest=True
        )

    def validate(self) -> Iterable[FieldError]:
        """Yield what is wrong with the values."""
        yield from self.source.faults()


class $name(ScorePlugin[${name}Args], Pure):
    """A node without a value counts as the one with the highest."""

    name = "$name"
    Args = ${name}Args
    normalizer = Normalizer.BY_MAX_REVERSED

    def measures(self) -> Sequence[MeasurementSource]:
        return (self.args.source,)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return node.measurements[MEASURED] or 0
''',
    """\
def test_the_node_with_the_lower_value_wins() -> None:
    nodes = [node_manifest("n1"), node_manifest("n2")]
    values = {"$name": {"n1": 4000, "n2": 1000}}
    answer = explain(nodes, pod_manifest("web"), CONFIG, plugins=[$name], measurements=values)
    assert answer["nodes"]["n1"]["scores"]["$name"]["normalized"] == 0
    assert answer["nodes"]["n2"]["scores"]["$name"]["normalized"] == 75
""",
)

_HOLDING = PluginKind(
    "lets pods hold units of a node, such as licences",
    "perNode: 2",
    '''\
"""Limit the licensed pods on each node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.framework import FieldError, Ledger, Node, Pod, Status


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        per_node: The licences of a node.
    """

    per_node: int = 2

    def validate(self) -> Iterable[FieldError]:
        """Yield what is wrong with the values."""
        if self.per_node < 0:
            yield FieldError("perNode", "must be 0 or more")


class $name(Ledger[${name}Args]):
    """A pod with the label example.com/licensed holds one licence of its node."""

    name = "$name"
    Args = ${name}Args
    full = "node(s) had no licence left"

    def amount(self, pod: Pod) -> int:
        return int("example.com/licensed" in pod.metadata.labels)

    def capacity(self, node: Node) -> int | Status:
        return self.args.per_node
''',
    """\
def test_a_node_without_a_licence_is_rejected() -> None:
    licensed = {"example.com/licensed": ""}
    objects = [
        node_manifest("n1"),
        node_manifest("n2"),
        pod_manifest("old-1", labels=licensed, node="n1"),
        pod_manifest("old-2", labels=licensed, node="n1"),
    ]
    answer = explain(objects, pod_manifest("web", labels=licensed), CONFIG, plugins=[$name])
    assert answer["selected"] == "n2"
    assert answer["nodes"]["n1"]["status"]["reasons"] == ["node(s) had no licence left"]
""",
)

KINDS = {
    "filter": _FILTER,
    "score": _SCORE,
    "counting": _COUNTING,
    "measured": _MEASURED,
    "holding": _HOLDING,
}

HOST_KINDS = tuple([kind for kind in KINDS if kind != "holding"])
"""The kinds that a host can have. No column has the amounts that a ledger sums."""

GUEST_KINDS = tuple([kind for kind in HOST_KINDS if kind != "measured"])
"""Those of them that a guest can have: it reaches nothing that it could measure."""

LANGUAGES: Mapping[str, Mapping[str, str]] = {
    "go": {
        "get": "go mod edit -replace mooring.dev/go/mooring=CLIENTS/go && go mod tidy",
        "test": "go test ./... && go build",
        "run": "./$distribution",
        "guest": "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o $distribution.wasm",
        "wasm": "$distribution.wasm",
    },
    "ts": {
        "get": "npm install CLIENTS/typescript && npm install",
        "test": "npm test",
        "run": "npm start --",
    },
    "java": {
        "get": "mvn --file CLIENTS/java install -DskipTests",
        "test": "mvn package",
        "run": 'java -cp "target/classes:$$(cat target/classpath)" Main',
    },
    "rust": {
        "get": "cargo add mooring-client --path CLIENTS/rust --features plugin-host",
        "test": "cargo test && cargo build",
        "run": "target/debug/$distribution",
        "guest": "cargo build --lib --release --target wasm32-unknown-unknown",
        "wasm": "target/wasm32-unknown-unknown/release/$module.wasm",
    },
}
"""The languages of hosts, each with commands: get the client, test and build, run the host, build a guest."""
