from typing import Any

import pytest

from mooring.framework import Code
from mooring.plugins.node_declared_features.plugin import REASON, NodeDeclaredFeatures
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, make, pre_filter, verdicts

RESTART_ALL = "RestartAllContainersOnContainerExits"
OWN_USERS = "UserNamespacesHostNetworkSupport"
RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
RESTARTS = {"containers": [{"name": "main", "restartPolicyRules": [RULE]}]}
INIT_RESTARTS = {"initContainers": [{"name": "init", "restartPolicyRules": [{"action": "Restart"}, RULE]}]}
USERS = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("spec", "declared", "passes"),
    [
        pytest.param(RESTARTS, [RESTART_ALL], True, id="declared"),
        pytest.param(RESTARTS, [OWN_USERS], False, id="another is declared"),
        pytest.param(RESTARTS, [], False, id="none is declared"),
        pytest.param(INIT_RESTARTS, [RESTART_ALL, OWN_USERS], True, id="an init container's"),
        pytest.param(USERS, [OWN_USERS], True, id="users of its own"),
        pytest.param({**RESTARTS, **USERS}, [OWN_USERS], False, id="one of two"),
        pytest.param({**RESTARTS, **USERS}, [RESTART_ALL, OWN_USERS], True, id="both"),
    ],
)
def test_filter(spec: dict[str, Any], declared: list[str], passes: bool) -> None:
    nodes = cluster(make_node("n", status={"declaredFeatures": declared}))
    said = verdicts(make(NodeDeclaredFeatures), make_pod(spec=spec), nodes)["n"]
    assert said.ok is passes
    if not passes:
        assert (said.code, said.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))


@pytest.mark.parametrize(
    ("spec", "kube", "gates"),
    [
        pytest.param({}, "1.36", {}, id="an ordinary pod"),
        pytest.param({"hostNetwork": True}, "1.36", {}, id="the host's network and users"),
        pytest.param({"hostUsers": False}, "1.36", {}, id="users in a network of its own"),
        pytest.param(RESTARTS, "1.36", {"NodeDeclaredFeatures": False}, id="the gate is off"),
        pytest.param(RESTARTS, "1.35", {}, id="off in the release before"),
    ],
)
def test_skips(spec: dict[str, Any], kube: str, gates: dict[str, bool]) -> None:
    plugin = make(NodeDeclaredFeatures, kube=kube, gates=gates)
    early = pre_filter(plugin, make_pod(spec=spec), cluster(make_node("n")))
    assert getattr(early, "code", None) is Code.SKIP


def test_without_its_gate_the_filter_passes_every_node() -> None:
    plugin = make(NodeDeclaredFeatures, gates={"NodeDeclaredFeatures": False})
    assert verdicts(plugin, make_pod(spec=RESTARTS), cluster(make_node("n")))["n"].ok
