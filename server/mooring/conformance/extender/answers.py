"""Checks of filter and prioritize: what their answers say."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mooring.conformance.checks import CallFailedError
from mooring.conformance.extender.asked import AskedExtender, fields_of
from mooring.conformance.extender.sample import Json, folded, from_later, with_nulls
from mooring.runtime.profiles.extender import FilterAnswer

_HIGHEST_SCORE: Final = 10
"""``MaxExtenderPriority``."""

_OK: Final = 200
_SERVER_FAULTS: Final = 500


def filters(extender: AskedExtender) -> Iterator[str]:
    """Answer about an ordinary pod, without Error."""
    extender.filter()
    yield from ()


def keeps_known_nodes(extender: AskedExtender) -> Iterator[str]:
    """Keep only nodes that were sent, each once."""
    asked = extender.sample.few()
    kept = Counter(extender.filter().node_names)
    for name in kept.keys() - set(asked):
        yield f"{name!r} is kept, and was not sent"
    for name, times in kept.items():
        if times > 1:
            yield f"{name!r} is kept {times} times"


def answers_in_form(extender: AskedExtender) -> Iterator[str]:
    """Send nodes that arrive whole back whole."""
    fields = fields_of(extender.answered(extender.stanza.filter_verb, extender.question()))
    if not extender.stanza.node_cache_capable and fields.get("nodes") is None and fields.get("nodenames"):
        yield "NodeNames has nodes and Nodes is null: without nodeCacheCapable that keeps no node"


def one_place_each(extender: AskedExtender) -> Iterator[str]:
    """Keep a node or fail it, and name it in one of the two maps."""
    answer = extender.filter()
    kept = set(answer.node_names)
    for name in kept & (answer.failed.keys() | answer.failed_and_unresolvable.keys()):
        yield f"{name!r} is kept and failed"
    for name in answer.failed.keys() & answer.failed_and_unresolvable.keys():
        yield f"{name!r} is in both maps; FailedAndUnresolvableNodes counts"


def gives_reasons(extender: AskedExtender) -> Iterator[str]:
    """Give a reason for each dropped node; without one preemption never considers it."""
    answer = extender.filter(_crowded(extender))
    reasons = {**answer.failed, **answer.failed_and_unresolvable}
    for name in set(extender.sample.few()).difference(answer.node_names):
        if not reasons.get(name):
            yield f"{name!r} is dropped without a reason"


def filter_repeats(extender: AskedExtender) -> Iterator[str]:
    """Answer the same question the same way, in any order of the nodes: Filter takes nothing."""
    first = _verdicts(extender.filter())
    yield from _difference(first, _verdicts(extender.filter()), "the question comes again")
    turned = extender.question(extender.sample.few()[::-1])
    yield from _difference(first, _verdicts(extender.filter(turned)), "the nodes come in reverse order")


def filters_one_node(extender: AskedExtender) -> Iterator[str]:
    """Answer about one node alone, as about a nominated one, as among others."""
    among = _verdicts(extender.filter())
    for name in extender.sample.few()[:2]:
        alone = _verdicts(extender.filter(extender.question([name])))
        yield from _difference({name: among.get(name, "")}, alone, "it comes alone")


def filter_folds(extender: AskedExtender) -> Iterator[str]:
    """Read fields in any casing."""
    yield from _filtered_alike(extender, folded(extender.question()), "fields are in lower case")


def filter_ignores_later(extender: AskedExtender) -> Iterator[str]:
    """Ignore fields of later releases."""
    yield from _filtered_alike(
        extender, from_later(extender.question()), "fields of a later release come with it"
    )


def filter_takes_nulls(extender: AskedExtender) -> Iterator[str]:
    """Take null for an empty field."""
    yield from _filtered_alike(extender, with_nulls(extender.question()), "empty fields are null")


def filter_without_nodes(extender: AskedExtender) -> Iterator[str]:
    """Answer a question without nodes with no nodes, or with Error."""
    for question in (extender.question([]), {**extender.question([]), "Nodes": None, "NodeNames": None}):
        try:
            kept = extender.filter(question).node_names
        except CallFailedError as fault:
            if not str(fault).startswith("Error is"):
                yield str(fault)
        else:
            yield from (f"{name!r} is kept, and no node was sent" for name in kept)
    extender.filter()


def filter_without_pod(extender: AskedExtender) -> Iterator[str]:
    """Reject a question without a pod, and answer the next one."""
    for pod in (None, Json()):
        answer = extender.post(
            extender.stanza.filter_verb, msgspec.json.encode({**extender.question(), "Pod": pod})
        )
        if answer.status >= _SERVER_FAULTS:
            yield f"code {answer.status} for a question without a pod"
    extender.filter()


def filters_new_node(extender: AskedExtender) -> Iterator[str]:
    """Answer about the other nodes if one is not known yet."""
    before = _verdicts(extender.filter())
    question = copy.deepcopy(extender.question())
    name = "mooring-conformance-new-node"
    if question["Nodes"]:
        node: Json = copy.deepcopy(question["Nodes"]["items"][0])
        node["metadata"]["name"] = name
        question["Nodes"]["items"].append(node)
    else:
        question["NodeNames"].append(name)
    after = _verdicts(extender.filter(question))
    after.pop(name, None)
    yield from _difference(before, after, "a new node comes with it")


def prioritizes(extender: AskedExtender) -> Iterator[str]:
    """Answer with a list of Host and Score."""
    extender.scores()
    yield from ()


def scores_in_range(extender: AskedExtender) -> Iterator[str]:
    """Give scores from 0 to 10."""
    for name, score in extender.scores():
        if not 0 <= score <= _HIGHEST_SCORE:
            yield f"{name!r} has score {score}"


def one_score_each(extender: AskedExtender) -> Iterator[str]:
    """Give each node one score: a second one is added to the first."""
    for name, times in Counter(name for name, _ in extender.scores()).items():
        if times > 1:
            yield f"{name!r} has {times} scores"


def scores_all(extender: AskedExtender) -> Iterator[str]:
    """Score each node that was sent, and only those."""
    asked, scored = set(extender.sample.few()), {name for name, _ in extender.scores()}
    yield from (f"{name!r} has no score, which counts as 0" for name in sorted(asked - scored))
    yield from (f"{name!r} has a score, and was not sent" for name in sorted(scored - asked))


def scores_repeat(extender: AskedExtender) -> Iterator[str]:
    """Answer the same question with the same scores."""
    first = dict(extender.scores())
    yield from _difference(first, dict(extender.scores()), "the question comes again")
    turned = extender.question(extender.sample.few()[::-1])
    yield from _difference(first, dict(extender.scores(turned)), "the nodes come in reverse order")


def scores_fold(extender: AskedExtender) -> Iterator[str]:
    """Read fields in any casing."""
    question = folded(extender.question())
    yield from _difference(
        dict(extender.scores()), dict(extender.scores(question)), "fields are in lower case"
    )


def scores_without_nodes(extender: AskedExtender) -> Iterator[str]:
    """Reject a question without nodes, or answer with an empty list."""
    question = extender.question([])
    status = extender.post(extender.stanza.prioritize_verb, msgspec.json.encode(question)).status
    if status >= _SERVER_FAULTS:
        yield f"code {status} for a question without nodes"
    elif status == _OK:
        for name, _ in extender.scores(question):
            yield f"{name!r} has a score, and no node was sent"


def _crowded(extender: AskedExtender) -> Json:
    """Return a question about a pod that is too large for any node."""
    question = copy.deepcopy(extender.question())
    question["Pod"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000", "memory": "1Pi"}}
    return question


def _filtered_alike(extender: AskedExtender, question: Json, when: str) -> Iterator[str]:
    yield from _difference(_verdicts(extender.filter()), _verdicts(extender.filter(question)), when)


def _verdicts(answer: FilterAnswer) -> dict[str, str]:
    """Return which place of the answer each node has."""
    return {
        **dict.fromkeys(answer.failed, "failed"),
        **dict.fromkeys(answer.failed_and_unresolvable, "failed and unresolvable"),
        **dict.fromkeys(answer.node_names, "kept"),
    }


def _difference(first: Mapping[str, object], other: Mapping[str, object], when: str) -> Iterator[str]:
    for name in sorted(first.keys() | other.keys()):
        before, after = first.get(name, "absent"), other.get(name, "absent")
        if before != after:
            yield f"{name!r} is {before} at first, and {after} if {when}"
