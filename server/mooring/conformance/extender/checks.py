"""The list of checks: each has its rule, and the place in kube-scheduler that the rule comes from."""

from __future__ import annotations

from typing import Final

from mooring.conformance.checks import Check
from mooring.conformance.extender import answers, endurance, victims

_FILTER_REPEATS: Final = "filter-repeats"
_SCORES_REPEAT: Final = "prioritize-repeats"
_FILTER: Final = "Filter in pkg/scheduler/extender.go"
_FIND: Final = "findNodesThatPassExtenders in pkg/scheduler/schedule_one.go"
_PRIORITIZE: Final = "prioritizeNodes in pkg/scheduler/schedule_one.go"
_PREEMPT: Final = "ProcessPreemption in pkg/scheduler/extender.go"
_SEND: Final = "send in pkg/scheduler/extender.go"
_TYPES: Final = "k8s.io/kube-scheduler/extender/v1/types.go"
_COMPATIBLE: Final = "TestCompatibility in k8s.io/kube-scheduler/extender/v1/types_test.go"
_CALL: Final = "callExtenders in pkg/scheduler/framework/preemption/preemption.go"
_NOMINATED: Final = "evaluateNominatedNode in pkg/scheduler/schedule_one.go"
_TRANSPORT: Final = "DefaultTransport in Go's net/http"
_ISSUES: Final = "reported by users of extenders"


CHECKS: Final = (
    Check("filter-answers", "filter", answers.filters, _FILTER),
    Check("filter-known-nodes", "filter", answers.keeps_known_nodes, _FILTER),
    Check("filter-form", "filter", answers.answers_in_form, _FILTER),
    Check("filter-one-place", "filter", answers.one_place_each, _FIND),
    Check("filter-reasons", "filter", answers.gives_reasons, _FIND, must=False),
    Check(_FILTER_REPEATS, "filter", answers.filter_repeats, _ISSUES),
    Check(
        "filter-one-node", "filter", answers.filters_one_node, _NOMINATED, must=False, needs=_FILTER_REPEATS
    ),
    Check("filter-casing", "filter", answers.filter_folds, _COMPATIBLE, needs=_FILTER_REPEATS),
    Check("filter-later-fields", "filter", answers.filter_ignores_later, _TYPES, needs=_FILTER_REPEATS),
    Check("filter-nulls", "filter", answers.filter_takes_nulls, _TYPES, needs=_FILTER_REPEATS),
    Check("filter-no-nodes", "filter", answers.filter_without_nodes, _TYPES),
    Check("filter-no-pod", "filter", answers.filter_without_pod, _ISSUES),
    Check("filter-new-node", "filter", answers.filters_new_node, _ISSUES, must=False, needs=_FILTER_REPEATS),
    Check("prioritize-answers", "prioritize", answers.prioritizes, _PRIORITIZE),
    Check("prioritize-range", "prioritize", answers.scores_in_range, _TYPES),
    Check("prioritize-hosts", "prioritize", answers.one_score_each, _PRIORITIZE),
    Check("prioritize-all", "prioritize", answers.scores_all, _PRIORITIZE, must=False),
    Check(_SCORES_REPEAT, "prioritize", answers.scores_repeat, _ISSUES),
    Check("prioritize-casing", "prioritize", answers.scores_fold, _COMPATIBLE, needs=_SCORES_REPEAT),
    Check("prioritize-no-nodes", "prioritize", answers.scores_without_nodes, _TYPES),
    Check("preempt-answers", "preempt", victims.preempts, _PREEMPT),
    Check("preempt-known", "preempt", victims.known_victims, _PREEMPT),
    Check("preempt-victims", "preempt", victims.some_victims, _CALL),
    Check("preempt-violations", "preempt", victims.keeps_violations, _PREEMPT),
    Check("preempt-casing", "preempt", victims.preempt_folds, _COMPATIBLE),
    Check("bind-unknown-pod", "bind", victims.rejects_unknown_pod, _TYPES),
    Check("bind-nonsense", "bind", victims.rejects_nonsense, _ISSUES),
    Check("broken-bodies", "", endurance.survives_broken_bodies, _ISSUES),
    Check("lost-callers", "", endurance.survives_lost_callers, _SEND),
    Check("unknown-paths", "", endurance.rejects_unknown_paths, _ISSUES, must=False),
    Check("keep-alive", "", endurance.keeps_connections, _TRANSPORT),
    Check("parallel", "", endurance.answers_in_parallel, _FIND, needs=_FILTER_REPEATS),
    Check("many-nodes", "", endurance.answers_about_all, _SEND),
)
