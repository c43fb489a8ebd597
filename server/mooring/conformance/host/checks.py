"""The list of checks of a host, each with the part of the contract that it comes from."""

from __future__ import annotations

from typing import Final

from mooring.conformance.checks import Check
from mooring.conformance.host import answers

_PROTO: Final = "in protos/mooring/plugin_host/v1/plugin_host_service.proto"
_DESCRIBE: Final = f"DescribeResponse {_PROTO}"
_PLUGIN: Final = f"PluginDescription {_PROTO}"
_CONFIGURE: Final = f"Configure {_PROTO}"
_EVALUATE: Final = f"EvaluateResponse {_PROTO}"
_SERVICE: Final = f"PluginHostService {_PROTO}"
_MEASURE: Final = f"Measure {_PROTO}"
_ACT: Final = f"Act {_PROTO}"
_PAGE: Final = "docs/plugin-in-another-language.md"
_TAKEN, _ANSWERED, _REPEATS = "describe-declaration", "evaluate-answers", "evaluate-repeats"

CHECKS: Final = (
    Check("describe-host-id", "", answers.names_itself, _DESCRIBE),
    Check("describe-repeats", "", answers.describes_alike, _SERVICE),
    Check("describe-version", "", answers.has_version, _DESCRIBE, must=False),
    Check("describe-plugins", "", answers.names_plugins, _DESCRIBE),
    Check(_TAKEN, "", answers.declares, _PLUGIN, needs="describe-host-id"),
    Check("configure-again", "", answers.configures_again, _CONFIGURE, needs=_TAKEN),
    Check("configure-unknown-plugin", "", answers.rejects_unknown_plugins, _CONFIGURE, needs=_TAKEN),
    Check("configure-arguments", "", answers.survives_arguments, _CONFIGURE, needs=_TAKEN),
    Check("other-start", "", answers.rejects_other_starts, _SERVICE, needs=_TAKEN),
    Check("unknown-instance", "", answers.rejects_unknown_instances, _SERVICE, needs=_TAKEN),
    Check(_ANSWERED, "", answers.answers, _EVALUATE, needs=_TAKEN),
    Check("evaluate-question", "", answers.names_question, _EVALUATE, needs=_ANSWERED),
    Check("evaluate-verdicts", "", answers.gives_verdicts, _EVALUATE, needs=_ANSWERED),
    Check("evaluate-codes", "filter", answers.gives_rejections, _EVALUATE, needs=_ANSWERED),
    Check("evaluate-undeclared", "", answers.rejects_only_as_declared, _PLUGIN, must=False, needs=_ANSWERED),
    Check("evaluate-reasons", "filter", answers.gives_reasons, _EVALUATE, must=False, needs=_ANSWERED),
    Check("evaluate-scores", "score", answers.gives_scores, _EVALUATE, needs=_ANSWERED),
    Check(_REPEATS, "", answers.repeats, _SERVICE, needs=_ANSWERED),
    Check("evaluate-order", "", answers.answers_in_any_order, _SERVICE, needs=_REPEATS),
    Check("evaluate-parallel", "", answers.answers_in_parallel, _SERVICE, needs=_REPEATS),
    Check("evaluate-many", "", answers.answers_about_many, _PAGE, needs=_ANSWERED),
    Check("broken-questions", "", answers.survives_broken_questions, _PAGE, needs=_ANSWERED),
    Check("lost-callers", "", answers.survives_lost_callers, _PAGE, needs=_ANSWERED),
    Check("measure-answers", "measure", answers.measures, _MEASURE, needs=_TAKEN),
    Check("measure-other-start", "measure", answers.measures_for_this_start, _MEASURE, needs=_TAKEN),
    Check("reserve-again", "reserve", answers.reserves_again, _ACT, needs=_TAKEN),
    Check("act-other-start", "reserve", answers.acts_for_this_start, _ACT, needs=_TAKEN),
)
