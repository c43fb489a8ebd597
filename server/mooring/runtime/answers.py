"""The types that callers of the engine pass to it and read in its answers.

Everything outside ``mooring.runtime`` imports these names from here. The modules that define them are the
engine's own, and may change.
"""

from mooring.runtime.cache.outcome import NEEDS_PLUGINS, Bypass, CacheCounts, NeedsPlugins
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice, ChoiceColumns, PlacedColumns, no_choice
from mooring.runtime.cycle.cycle import (
    CycleOptions,
    evaluate,
    evaluate_filters,
    evaluate_normalized,
    evaluate_preemption,
    evaluate_scores,
)
from mooring.runtime.cycle.evaluation import (
    Document,
    Evaluation,
    PluginScores,
    PreFilterOutcome,
    Scores,
    begin,
)
from mooring.runtime.cycle.explain import Explanation, NominatedPod, RequestedResource, keeping_room
from mooring.runtime.cycle.filters_read import asked_plugins, helped_by_pods
from mooring.runtime.cycle.findings import Findings, finding_document, findings_of
from mooring.runtime.cycle.fork_reserve import ForkReserve
from mooring.runtime.cycle.full_cycle import Found, select
from mooring.runtime.cycle.group_cycle import PLACEMENTS_GATE, topology_keys, waiting_pods
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember, TriedPlacement, rejected_group
from mooring.runtime.cycle.plugin_calls import (
    NoDeadline,
    Observer,
    PluginCalls,
    Progress,
)
from mooring.runtime.cycle.post_filter import candidates_of, preemption_document, seek_room
from mooring.runtime.cycle.score import normalizes
from mooring.runtime.cycle.tie_break import choose, mix64
from mooring.runtime.cycle.what_if import guest_records
