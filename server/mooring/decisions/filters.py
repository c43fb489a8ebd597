"""Which decisions a reader wants to see."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.decisions.records import BatchRecord, DecisionKind, DecisionResult, Record
from mooring.framework.label_selector import EVERYTHING, LabelMatcher


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Lets a decision through with which every field that is set agrees.

    Attributes:
        namespace: The pod's, "" = any, like the other texts.
        pod: The pod's name.
        node: The selected or nominated node.
        kinds: The kinds of decision; none = anything.
        results: How it ended; none = anyhow.
        rejecting_plugin: A plugin that rejected something.
        max_margin: By how much the selected node's total is above the next one's at most; None = any.
        labels: The selector of the pod's labels.
    """

    namespace: str = ""
    pod: str = ""
    uid: str = ""
    node: str = ""
    profile: str = ""
    kinds: frozenset[DecisionKind] = frozenset()
    results: frozenset[DecisionResult] = frozenset()
    rejecting_plugin: str = ""
    max_margin: int | None = None
    labels: LabelMatcher = EVERYTHING

    def matches(self, record: Record) -> bool:
        """Return whether it lets this decision through."""
        why = record.why
        return (
            self.namespace in ("", record.namespace)
            and self.pod in ("", record.name)
            and self.uid in ("", record.uid)
            and (not self.node or self.node in (record.node, record.details.nominated))
            and self.profile in ("", record.profile)
            and (not self.kinds or record.kind in self.kinds)
            and (not self.results or record.result in self.results)
            and (not self.rejecting_plugin or (why is not None and self.rejecting_plugin in why.plugins))
            and (self.max_margin is None or self._is_close(record, self.max_margin))
            and (self.labels.empty or self.labels.matches(record.pod.metadata.labels))
        )

    @staticmethod
    def _is_close(record: Record, margin: int) -> bool:
        """Return whether another node's total is so near that of the selected one."""
        if record.ties > 1:
            return True
        return bool(record.details.runner_up) and record.total - record.details.runner_up_total <= margin

    def may_match(self, batch: BatchRecord) -> bool:
        """Return whether it may let a decision of the batch through; cheap."""
        if self.rejecting_plugin or (self.results and DecisionResult.SCHEDULED not in self.results):
            return False
        return (
            (not self.pod or self.pod in batch.names)
            and (not self.uid or self.uid in batch.uids)
            and (not self.node or self.node in batch.nodes)
            and (not self.kinds or batch.kind in self.kinds)
        )
