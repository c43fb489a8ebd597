"""Decisions when a host fails, lies, or is another one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mooring.config.types import PluginHostStanza
from mooring.framework.errors import InvalidArgumentError, PluginUnavailableError, UnavailableError
from mooring.plugin_hosts.connection import HostConnection
from mooring.plugin_hosts.hosts import close_connections, register_hosts
from mooring.plugin_hosts.rules import rule_class
from mooring.runtime.profiles.registry import RegistryError, new_in_tree_registry
from mooring.testing import make_node
from mooring_client.plugin_host.hosting import HostedPlugin, Values
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode
from tests.plugin_hosts.hosts import PATIENT, SpoiledHost, hosting, serving
from tests.process import until
from tests.runtime.pure.engines import Rules

SHORT = timedelta(milliseconds=200)


class Even(HostedPlugin):
    """Prefers some racks, and rejects one."""

    node_columns = ("metadata.labels[rack]",)

    def filter(self, pod: Values, node: Values) -> str | None:
        return "rack is closed" if node["metadata.labels[rack]"] == "r1" else None

    def score(self, pod: Values, node: Values) -> int:
        return 100 if node["metadata.labels[rack]"] == "r2" else 0


class Odd(Even):
    """The same plugin in a newer version: it reads another value."""

    name = "Even"
    node_columns = ("metadata.name",)

    def filter(self, pod: Values, node: Values) -> str | None:
        return None

    def score(self, pod: Values, node: Values) -> int:
        return 100 if node["metadata.name"] == "n4" else 0


class Scores(HostedPlugin):
    """Prefers one node."""

    node_columns = ("metadata.name",)

    def score(self, pod: Values, node: Values) -> int:
        return 100 if node["metadata.name"] == "n7" else 0


def other(**fields: Any) -> Callable[[pb.EvaluateResponse], pb.EvaluateResponse]:
    """Return what changes fields of an answer."""

    def spoil(answer: pb.EvaluateResponse) -> pb.EvaluateResponse:
        changed = pb.EvaluateResponse(**fields)
        for name in fields:
            answer.ClearField(name)  # type: ignore[arg-type] # one of its fields
        answer.MergeFrom(changed)
        return answer

    return spoil


def crash(_: pb.EvaluateResponse) -> None:
    raise ValueError


REJECTS = VerdictCode.VERDICT_CODE_UNSCHEDULABLE
FAULTS: dict[str, tuple[Callable[[pb.EvaluateResponse], Any], str]] = {
    "another question": (other(question=1 << 40), "answered question"),
    "another start": (other(host_id="another"), "was started again during the call"),
    "too few verdicts": (other(verdicts=b"\1"), "gave 1 verdicts about 5"),
    "too many verdicts": (other(verdicts=b"\1" * 99), "gave 99 verdicts about 5"),
    "a rejection that is not there": (other(verdicts=b"\0\7\0\0\0"), "named rejection 7 of 1"),
    "no rejection": (other(rejections=[Verdict(code=VerdictCode.VERDICT_CODE_WAIT)]), "verdict code 5"),
    "an error": (
        other(rejections=[Verdict(code=VerdictCode.VERDICT_CODE_ERROR, reasons=["no licence"])]),
        "said no licence",
    ),
    "too few scores": (other(scores=b"\1"), "gave 1 scores of 5"),
    "no scores": (other(scores=b""), "gave 0 scores of 5"),
    "a score out of range": (other(scores=b"\xff" * 5), "gave score 255"),
    "a reason of 10 MB": (
        other(rejections=[Verdict(code=REJECTS, reasons=["x" * (10 << 20)])]),
        "RESOURCE_EXHAUSTED",
    ),
    "an exception": (crash, "answered UNKNOWN"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_answer_fails_the_decision_by_name_until_the_host_is_right(
    fault: str, tmp_path: Path
) -> None:
    spoil, said = FAULTS[fault]
    with hosting(tmp_path, Even) as hosted:
        rules = Rules(hosted.rule("Even"))
        hosted.host.spoil = spoil
        with pytest.raises(PluginUnavailableError, match=said) as failed:
            rules.decide()
        assert failed.value.reason == "PLUGIN_UNAVAILABLE"
        assert failed.value.metadata["plugin"] == "Even"
        assert failed.value.metadata["host"] == hosted.address
        hosted.host.spoil = None
        until(lambda: not hosted.connection.down)
        assert rules.decide().total > 0


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    with hosting(tmp_path, Even) as hosted:
        hosted.host.spoil = other(
            verdicts=b"\1" * 5, rejections=[Verdict(code=REJECTS, reasons=["x" * 100_000] * 20)]
        )
        message = Rules(hosted.rule("Even")).decide().message
    assert 0 < len(message) < 10_000


def test_a_host_that_hangs_costs_one_decision_one_deadline(tmp_path: Path) -> None:
    with hosting(tmp_path, Even, evaluate_timeout=SHORT) as hosted:
        rules = Rules(hosted.rule("Even"))
        hosted.host.spoil = hosted.hang
        with pytest.raises(PluginUnavailableError, match="did not answer in time"):
            rules.decide()
        assert hosted.host.asked <= 1


def test_known_answers_need_no_host(tmp_path: Path) -> None:
    with hosting(tmp_path, Even) as hosted:
        rules = Rules(hosted.rule("Even"))
        first = rules.decide(place=False)
        hosted.host.spoil = crash
        assert rules.decide(place=False).total == first.total
        assert hosted.host.asked == 1


def test_another_start_forgets_what_the_one_before_said(tmp_path: Path) -> None:
    with hosting(tmp_path, Even) as hosted:
        rules = Rules(hosted.rule("Even"))
        assert rules.decide(place=False).feasible == 16
        hosted.host.start_again(Odd)
        hosted.connection._wanted.set()  # the loss of the connection, which does not happen here
        until(lambda: hosted.connection.described.host_version == "next")
        chosen = rules.decide(place=False)
        assert (chosen.feasible, chosen.node_name) == (20, "n4")


def test_another_start_is_met_by_the_decision_that_asks_it(tmp_path: Path) -> None:
    with hosting(tmp_path, Even) as hosted:
        rules = Rules(hosted.rule("Even"))
        hosted.host.start_again(Odd)
        assert rules.decide().feasible == 20


def test_a_host_that_comes_back_on_its_socket_is_found(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/host.sock"
    with serving(address, SpoiledHost([Even])):
        connection = HostConnection(PluginHostStanza(address, evaluate_timeout=PATIENT))
        connection.open()
        (described,) = connection.described.plugins
        rules = Rules(rule_class(connection, described))
    try:
        until(lambda: connection.down)
        with pytest.raises(PluginUnavailableError):
            rules.decide()
        (tmp_path / "host.sock").unlink(missing_ok=True)
        with serving(address, SpoiledHost([Odd])):
            until(lambda: not connection.down and connection.described.host_id != "")
            until(lambda: "metadata.name" in connection.described.plugins[0].node_columns)
            assert rules.decide().node_name == "n4"
    finally:
        connection.close()


class Permitting(Odd):
    """The plugin with another point."""

    def permit(self, pod: pb.ActRequest) -> None:
        """Let every pod go on."""


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        pytest.param((Permitting,), "has other points now", id="points"),
        pytest.param((Scores,), "lacks the plugin Even", id="gone"),
    ],
)
def test_a_start_that_is_no_longer_the_plugin_is_refused(
    plugins: tuple[type[HostedPlugin], ...], said: str, tmp_path: Path
) -> None:
    with hosting(tmp_path, Even) as hosted:
        rules = Rules(hosted.rule("Even"))
        hosted.host.start_again(*plugins)
        with pytest.raises(PluginUnavailableError, match=said):
            rules.decide()


def test_a_plugin_that_only_scores_may_be_passed_over(tmp_path: Path) -> None:
    with hosting(tmp_path, Scores, ignorable=True) as hosted:
        rules = Rules(hosted.rule("Scores"))
        assert rules.decide(place=False).node_name == "n7"
        hosted.host.spoil = crash
        rules.put(make_node("n20"))
        assert rules.decide(place=False).tie_count == 21
        hosted.host.spoil = None
        until(lambda: not hosted.connection.down)
        assert rules.decide(place=False).node_name == "n7"


def test_a_plugin_that_filters_is_never_passed_over(tmp_path: Path) -> None:
    with hosting(tmp_path, Even, ignorable=True) as hosted:
        rules = Rules(hosted.rule("Even"))
        hosted.host.spoil = crash
        with pytest.raises(PluginUnavailableError):
            rules.decide()


def test_two_answers_about_equal_values_are_found_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with hosting(tmp_path, Scores) as hosted:
        rules = Rules(hosted.rule("Scores"))
        rules.decide()
        hosted.host.spoil = lambda answer: other(scores=bytes([50] * len(answer.scores)))(answer)
        rules.put(make_node("another"))
        rules.decide()
        assert not rules.plugin.found.followed
    assert "plugin Scores is not followed: it gave two answers for equal values" in caplog.text


def test_two_hosts_with_a_plugin_of_one_name_are_told(tmp_path: Path) -> None:
    addresses = [f"unix:{tmp_path}/{name}.sock" for name in "ab"]
    try:
        with serving(addresses[0], SpoiledHost([Even])), serving(addresses[1], SpoiledHost([Odd])):
            with pytest.raises(RegistryError, match="Even already exists") as error:
                register_hosts(new_in_tree_registry(), map(PluginHostStanza, addresses))
            assert all(address in str(error.value) for address in addresses)
    finally:
        close_connections()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("192.0.2.1:80", "is not a loopback address", id="another machine"),
        pytest.param("here", "is not an address", id="no address"),
    ],
)
def test_an_address_that_others_could_answer_at_is_refused(address: str, said: str) -> None:
    connection = HostConnection(PluginHostStanza(address))
    with pytest.raises(InvalidArgumentError, match=said):
        connection.open()
    connection.close()


@pytest.mark.parametrize(("mode", "fine"), [(0o600, True), (0o755, True), (0o777, False), (0o702, False)])
def test_a_socket_that_others_may_write_to_is_refused(mode: int, fine: bool, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/host.sock"
    with serving(address, SpoiledHost([Even])):
        (tmp_path / "host.sock").chmod(mode)
        connection = HostConnection(PluginHostStanza(address))
        try:
            if fine:
                assert connection.open().host_id
            else:
                with pytest.raises(InvalidArgumentError, match="every user may write to"):
                    connection.open()
        finally:
            connection.close()


def test_a_host_that_is_not_there_is_named(tmp_path: Path) -> None:
    connection = HostConnection(PluginHostStanza(f"unix:{tmp_path}/none.sock"))
    with pytest.raises(UnavailableError, match=r"none\.sock does not answer"):
        connection.open()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        pytest.param({"points": ["bind"]}, "'bind' is unknown; known are filter", id="point"),
        pytest.param({"points": []}, "points: is missing", id="no point"),
        pytest.param({"pod_fields": ["metadata.uid"]}, "no two objects have in common", id="own field"),
        pytest.param({"pod_fields": ["spec.nothing"]}, "is not read by scheduling", id="no field"),
        pytest.param({"pod_fields": ["metadata.name[x]"]}, "has no entries", id="no mapping"),
        pytest.param({"node_columns": ["counted[app]"]}, "counted.LABEL by TOPOLOGY", id="no domain"),
        pytest.param({"node_columns": ["metadata.labels[a"]}, "is not a path", id="no path"),
        pytest.param({"node_columns": ["metadata.name"] * 65}, "more than 64", id="too many"),
    ],
)
def test_a_declaration_that_cannot_be_is_told(declared: dict[str, Any], said: str, tmp_path: Path) -> None:
    fields = {"name": "Wrong", "points": ["filter"], **declared}
    with hosting(tmp_path, Even) as hosted, pytest.raises(InvalidArgumentError, match=said):
        Rules(rule_class(hosted.connection, pb.PluginDescription(**fields)))


def test_a_hundred_like_pods_are_not_asked_about_one_by_one(tmp_path: Path) -> None:
    with hosting(tmp_path, Free) as hosted:
        rules = Rules(hosted.rule("Free"))
        for _ in range(100):
            rules.decide(rules.pod(requests={"memory": "1Mi"}))
        assert hosted.host.asked <= 5


class Free(HostedPlugin):
    """Prefers nodes with little requested memory."""

    node_columns = ("requested[memory]",)

    def score(self, pod: Values, node: Values) -> int:
        return max(100 - int(node["requested[memory]"] or 0) // (1 << 20), 0)
