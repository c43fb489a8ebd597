"""The forms in which a server reports that it has dropped the versions a watch asks for, 410 in both forms,
and the calls that a fault meets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.cluster.following import Following, pod
from tests.fake_api_server import Answer, Call, event_line


def after(calls: int) -> Callable[[Call], bool]:
    """Return which calls come after the first ones of their path."""
    seen = Counter[str]()

    def is_after(call: Call) -> bool:
        seen[call.path] += 1
        return seen[call.path] > calls

    return is_after


def gone_at_the_start(live: Following) -> None:
    live.fake.stop()
    live.fake.add(pod("later"))
    live.fake.remove("Pod", "p0")
    live.fake.store.compact()
    live.fake.start()


def gone_as_a_status(live: Following) -> None:
    live.fake.faults.on("WATCH", "/pods$", Answer(410), times=1)
    live.fake.cut()


def gone_midway(live: Following) -> None:
    lists = live.reflector("Pod").lists

    def edit(type_: str, item: dict[str, Any]) -> list[bytes]:
        # A watch without a reader may get it first.
        if live.reflector("Pod").lists > lists:
            return [event_line(type_, item)]
        return [event_line("ERROR", {"kind": "Status", "code": 410, "message": "too old"})]

    live.fake.faults.edit = edit
    live.fake.add(pod("later"))


def gone_while_paging(live: Following) -> None:
    live.fake.faults.on("GET", "/pods$", Answer(410), times=1, when=lambda call: "continue" in call.query)
    gone_as_a_status(live)
