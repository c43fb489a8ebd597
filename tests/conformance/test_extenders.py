"""The checks of extenders find each planted fault, by its name, and nothing in extenders that are right."""

from __future__ import annotations

import copy
import itertools
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.main import main
from mooring.cluster.manifests.documents import read_text
from mooring.conformance.checks import CheckOutcome, answer_times, outcomes
from mooring.conformance.extender.asked import AskedExtender
from mooring.conformance.extender.checks import CHECKS
from mooring.conformance.extender.sample import generated, sample_of
from mooring.framework.errors import InvalidArgumentError
from mooring.scheduler.extender import build_transport
from tests.conformance.servers import serving
from tests.scheduler.extenders import stanza

VERBS = ("filter", "prioritize", "preempt", "bind")

Body = dict[str, Any]
Verb = Callable[[Body], Any]


def _fields(body: Any) -> Body:
    return {name.lower(): value for name, value in body.items()} if isinstance(body, dict) else {}


def _asked(body: Body) -> list[str]:
    fields = _fields(body)
    if fields.get("nodenames") is not None:
        return list(fields["nodenames"])
    return [node["metadata"]["name"] for node in (fields.get("nodes") or {}).get("items", ())]


def _is_large(body: Body) -> bool:
    container = _fields(_fields(body).get("pod") or {}).get("spec", {}).get("containers", [{}])[0]
    requests: Body = container.get("resources", {}).get("requests", {})
    return requests.get("cpu") == "1000"


def good_filter(body: Body) -> Any:
    fields = _fields(body)
    if not fields.get("pod"):
        return {"Error": "Pod is missing; send the pod that is to be placed"}
    dropped = [name for name in _asked(body) if _is_large(body) or name == "node-00000"]
    kept = [name for name in _asked(body) if name not in dropped]
    items = (fields.get("nodes") or {}).get("items", ())
    whole = [node for node in items if node["metadata"]["name"] in kept]
    by_name = fields.get("nodes") is None
    return {
        "Nodes": None if by_name else {"metadata": {}, "items": whole},
        "NodeNames": kept if by_name else None,
        "FailedNodes": dict.fromkeys(dropped, "too small"),
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def good_prioritize(body: Body) -> Any:
    return [{"Host": name, "Score": len(name) % 11} for name in _asked(body)]


def good_preempt(body: Body) -> Any:
    fields = _fields(body)
    sent = fields["nodenametometavictims"] or fields["nodenametovictims"]
    found = {}
    for node, victims in sent.items():
        members = _fields(victims)
        uids = [_fields(pod).get("uid") or pod["metadata"]["uid"] for pod in members["pods"]]
        violations = members["numpdbviolations"]
        found[node] = {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
    return {"NodeNameToMetaVictims": found}


def good_bind(body: Body) -> Any:
    return {"Error": f"pod {_fields(body).get('podname')!r} is not found"}


GOOD: dict[str, Any] = {
    "filter": good_filter,
    "prioritize": good_prioritize,
    "preempt": good_preempt,
    "bind": good_bind,
}


def changed(good: Verb, **members: Any) -> Verb:
    """Return the right answer, with other fields."""
    return lambda body: {**good(body), **{name: _called(value, body) for name, value in members.items()}}


def _called(value: Any, body: Body) -> Any:
    return value(body) if callable(value) else value


def scored(change: Callable[[list[Body]], Any]) -> Verb:
    return lambda body: change(good_prioritize(body))


def preempting(change: Callable[[Body], Any]) -> Verb:
    def preempt(body: Body) -> Any:
        answer = copy.deepcopy(good_preempt(body))
        for victims in answer["NodeNameToMetaVictims"].values():
            change(victims)
        return answer

    return preempt


def counted(answer: Callable[[int, Body], Any]) -> Verb:
    calls = itertools.count()
    return lambda body: answer(next(calls), body)


def exactly_cased(body: Body) -> Any:
    return good_filter({"Pod": body["Pod"], "Nodes": body["Nodes"], "NodeNames": body["NodeNames"]})


def strict(body: Body) -> Any:
    known = {"pod", "nodes", "nodenames"}
    return good_filter(body) if known.issuperset(_fields(body)) else {"Error": "an unknown field"}


def without_nulls(body: Body) -> Any:
    pod = _fields(body).get("pod") or {}
    return 500 if None in _fields(_fields(pod).get("spec") or {}).values() else good_filter(body)


def crowded_alone() -> Verb:
    """One call at a time, and another answer for those who come meanwhile."""
    busy = threading.Lock()

    def answer(body: Body) -> Any:
        if not busy.acquire(blocking=False):
            return {"NodeNames": [], "Error": ""}
        try:
            threading.Event().wait(0.02)
            return good_filter(body)
        finally:
            busy.release()

    return answer


def known_only(body: Body) -> Any:
    unknown = [name for name in _asked(body) if not name.startswith("node-")]
    return {"Error": f"node {unknown[0]} is not found"} if unknown else good_filter(body)


def few_only(body: Body) -> Any:
    return 413 if len(_asked(body)) > 20 else good_filter(body)


def moving(call: int, body: Body) -> Any:
    """It takes a place with each Filter."""
    return changed(good_filter, NodeNames=_asked(body)[call % 3 + 1 :])(body)


def kept_and_failed(body: Body) -> Any:
    return changed(good_filter, FailedNodes=dict.fromkeys(_asked(body), "x"))(body)


def several_only(body: Body) -> Any:
    return good_filter(body) if len(_asked(body)) > 1 else {"NodeNames": []}


def by_turns(call: int, body: Body) -> Any:
    return [{**each, "Score": call % 7} for each in good_prioritize(body)]


def preempts_exactly_cased(body: Body) -> Any:
    return good_preempt(body) if "Pod" in body else {"NodeNameToMetaVictims": {}}


PLANTED: list[tuple[str, str, Any]] = [
    ("filter-answers", "filter", 500),
    ("filter-answers", "filter", b""),
    ("filter-answers", "filter", {"NodeNames": "node-00001"}),
    ("filter-answers", "filter", {"Nodes": [], "NodeNames": None}),
    ("filter-answers", "filter", {"Error": "no state yet"}),
    ("filter-known-nodes", "filter", changed(good_filter, NodeNames=lambda body: [*_asked(body), "mine"])),
    ("filter-known-nodes", "filter", changed(good_filter, NodeNames=lambda body: _asked(body) * 2)),
    ("filter-one-place", "filter", kept_and_failed),
    ("filter-reasons", "filter", changed(good_filter, FailedNodes={})),
    ("filter-repeats", "filter", counted(moving)),
    ("filter-repeats", "filter", changed(good_filter, NodeNames=lambda body: _asked(body)[:3])),
    ("filter-one-node", "filter", several_only),
    ("filter-casing", "filter", exactly_cased),
    ("filter-later-fields", "filter", strict),
    ("filter-nulls", "filter", without_nulls),
    ("filter-no-nodes", "filter", lambda body: good_filter(body) if _asked(body) else 500),
    ("filter-no-nodes", "filter", lambda body: changed(good_filter, NodeNames=_asked(body) or [""])(body)),
    ("filter-no-pod", "filter", lambda body: good_filter(body) if _fields(body).get("pod") else 500),
    ("filter-new-node", "filter", known_only),
    ("prioritize-answers", "prioritize", {}),
    ("prioritize-answers", "prioritize", scored(lambda found: [{**each, "Score": 5.5} for each in found])),
    ("prioritize-answers", "prioritize", scored(lambda found: [{**each, "Score": "5"} for each in found])),
    ("prioritize-range", "prioritize", scored(lambda found: [{**each, "Score": 100} for each in found])),
    ("prioritize-range", "prioritize", scored(lambda found: [{**each, "Score": -1} for each in found])),
    ("prioritize-hosts", "prioritize", scored(lambda found: found * 2)),
    ("prioritize-all", "prioritize", scored(lambda found: found[1:])),
    ("prioritize-all", "prioritize", scored(lambda found: [*found, {"Host": "mine", "Score": 1}])),
    ("prioritize-repeats", "prioritize", counted(by_turns)),
    ("prioritize-casing", "prioritize", lambda body: good_prioritize(body) if "NodeNames" in body else []),
    ("prioritize-no-nodes", "prioritize", lambda body: good_prioritize(body) or 500),
    ("preempt-answers", "preempt", {"NodeNameToVictims": {}}),
    ("preempt-answers", "preempt", 404),
    ("preempt-known", "preempt", {"NodeNameToMetaVictims": {"mine": {"Pods": [{"UID": "x"}]}}}),
    ("preempt-known", "preempt", preempting(lambda victims: victims["Pods"].append({"UID": "x"}))),
    ("preempt-victims", "preempt", preempting(lambda victims: victims.update(Pods=[]))),
    ("preempt-violations", "preempt", preempting(lambda victims: victims.update(NumPDBViolations=0))),
    ("preempt-casing", "preempt", preempts_exactly_cased),
    ("bind-unknown-pod", "bind", {"Error": ""}),
    ("bind-nonsense", "bind", lambda body: good_bind(body) if body else {"Error": ""}),
    ("parallel", "filter", crowded_alone()),
    ("many-nodes", "filter", few_only),
]  # fmt: skip


MANNERS_FOUND = {
    "closes": "keep-alive",
    "closes-idle": "keep-alive",
    "dies-of-nonsense": "broken-bodies",
    "ignores-nonsense": "broken-bodies",
    "any-path": "unknown-paths",
    "dies-of-lost-callers": "lost-callers",
}


def asked(url: str, *, cached: bool = True, nodes: int = 30, seconds: float = 30) -> AskedExtender:
    found = stanza(url, *VERBS, node_cache_capable=cached, http_timeout=timedelta(seconds=seconds))
    return AskedExtender(found, build_transport(found, "extender"), generated(nodes), idle=0.05)


def wrong(played: Iterable[CheckOutcome]) -> dict[str, list[str]]:
    return {outcome.name: outcome.faults for outcome in played if outcome.faults}


@pytest.mark.parametrize("cached", [True, False], ids=["names", "nodes"])
def test_a_right_extender_passes(cached: bool) -> None:
    with serving(GOOD) as url:
        extender = asked(url, cached=cached)
        played = list(outcomes(CHECKS, extender))
    assert wrong(played) == {}
    assert {outcome.result for outcome in played} == {"passed"}
    assert {each.call for each in answer_times(extender)} == {"filter", "prioritize"}


@pytest.mark.parametrize(
    ("check", "verb", "answer"), PLANTED, ids=[f"{at}-{check}" for at, (check, _, _) in enumerate(PLANTED)]
)
def test_each_planted_fault_is_found(check: str, verb: str, answer: Any) -> None:
    with serving({**GOOD, verb: answer}) as url:
        assert check in wrong(outcomes(CHECKS, asked(url), check))


@pytest.mark.parametrize(("manner", "check"), MANNERS_FOUND.items(), ids=MANNERS_FOUND)
def test_each_bad_manner_is_found(manner: str, check: str) -> None:
    with serving(GOOD, manner) as url:
        assert check in wrong(outcomes(CHECKS, asked(url, seconds=0.5), check))


def test_nodes_that_go_back_as_names_are_found() -> None:
    answer = changed(good_filter, Nodes=None, NodeNames=_asked)
    with serving({**GOOD, "filter": answer}) as url:
        assert "filter-form" in wrong(outcomes(CHECKS, asked(url, cached=False), "filter-form"))


def test_each_check_has_a_planted_fault() -> None:
    planted = {check for check, _, _ in PLANTED} | set(MANNERS_FOUND.values()) | {"filter-form"}
    assert planted == {check.name for check in CHECKS}


def test_checks_of_missing_verbs_are_skipped() -> None:
    with serving({"filter": good_filter}) as url:
        extender = asked(url)
        alone = replace(extender.stanza, prioritize_verb="", preempt_verb="", bind_verb="")
        played = list(outcomes(CHECKS, replace(extender, stanza=alone)))
    others = ("prioritize", "preempt", "bind")
    assert {each.result for each in played if each.name.startswith(others)} == {"skipped"}
    assert {each.result for each in played if not each.name.startswith(others)} == {"passed"}


def test_answers_that_vary_are_not_compared() -> None:
    with serving({**GOOD, "filter": counted(moving)}) as url:
        results = {outcome.name: outcome.result for outcome in outcomes(CHECKS, asked(url), "filter")}
    assert results["filter-repeats"] == "failed"
    assert results["filter-casing"] == results["filter-nulls"] == "skipped"


def test_the_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.xml"
    flags = ["--node-cache-capable", "--nodes", "20", "--idle", "10ms", "--junit", str(report)]
    with serving({**GOOD, "prioritize": []}) as url:
        assert main(argv=["conformance", "extender", url, *flags]) == 0
        shown = capsys.readouterr().out
        assert main(argv=["conformance", "extender", url, *flags, "-o", "json"]) == 0
    assert "'node-00000' has no score, which counts as 0" in shown
    checks = {each["name"]: each["result"] for each in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["prioritize-all"] == "advised"
    assert checks["preempt-answers"] == "skipped"
    assert 'tests="33"' in report.read_text()


def test_the_command_reads_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({**GOOD, "prioritize": 500}) as url:
        file = tmp_path / "kube-scheduler.yaml"
        file.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
            f"- {{urlPrefix: {url}, filterVerb: filter, prioritizeVerb: prioritize, weight: 1}}\n"
        )
        nodes = tmp_path / "nodes.yaml"
        nodes.write_text(json.dumps({"kind": "NodeList", "items": list(generated(3).nodes.values())}))
        command = ["conformance", "extender", str(file), "--manifests", str(nodes), "--case", "prioritize"]
        assert main(argv=command) == 1
    assert "prioritize is answered with code 500" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [("kind: Pod\nmetadata: {name: web}\nspec: {}", "there is no Node"), ("{", "cluster.yaml:2: not YAML")],
    ids=["no-node", "no-yaml"],
)
def test_what_cannot_be_used_is_told(text: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        sample_of(read_text(text, "cluster.yaml"))


def test_the_first_pending_pod_is_asked_about() -> None:
    node = {"kind": "Node", "metadata": {"name": "a"}}
    pods = [
        {"kind": "Pod", "metadata": {"name": "runs"}, "spec": {"nodeName": "a"}},
        {"kind": "Pod", "metadata": {"name": "waits"}, "spec": {}},
    ]
    sample = sample_of(read_text(json.dumps({"kind": "List", "items": [node, *pods]}), "dump"))
    assert sample.pod["metadata"]["name"] == "waits"
    assert list(sample.nodes) == ["a"]
