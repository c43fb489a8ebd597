"""Rows B: a live source whose API server loses, repeats, lies or is gone; I5 after each of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from mooring.cluster.sources import Timers
from mooring.cluster.sources.kubernetes.reflector import ANSWERS_BEHIND
from mooring.framework.node_table import CPU_ROW
from tests.cluster.breaking import after, gone_as_a_status, gone_at_the_start, gone_midway, gone_while_paging
from tests.cluster.chaos import TIMERS, Chaos
from tests.cluster.following import QUICK, Following, following, held, node, pod
from tests.fake_api_server import Answer, Cut, FakeApiServer, event_line
from tests.fake_api_server.faults import Edit
from tests.laboratories.soak.rounds import Round, Row
from tests.process import until

AUDITING = replace(QUICK, probe=0.05, compare=0.3)
"""A loss is found soon."""

Break = Callable[[Round, Following], None]


def broken(do: Break, timers: Timers = AUDITING, least: int = 10, most: int = 20) -> Callable[[Round], None]:
    """Return a row that breaks one source again and again; it has what the server has after each time."""

    def play(round_: Round) -> None:
        with FakeApiServer(bookmark_seconds=0.1) as fake, following(fake, timers) as live:
            fake.add(*(node(f"n{at}") for at in range(3)), *(pod(f"p{at}", node="n1") for at in range(8)))
            live.wait_equal()
            for _ in range(round_.some(least, most)):
                do(round_, live)
                round_.faults += 1
                round_.heal(live)

    return play


def change(round_: Round, live: Following, most: int = 20) -> None:
    """Pods come, change and go."""
    dice = round_.dice
    for number in range(dice.randint(1, most)):
        name = f"p{dice.randrange(12)}"
        if dice.random() < 0.4:
            live.fake.remove("Pod", name)
        else:
            node_name = dice.choice(("", "n0", "n1", "n2"))
            live.fake.add(pod(name, node=node_name, labels={"number": str(number)}))
        round_.inputs += 1


def silent_drop(round_: Round, live: Following) -> None:
    """The connection stays open without further events."""
    live.fake.faults.silent = True
    opened = len(live.fake.history.all("WATCH", "/pods"))
    change(round_, live)
    live.fake.add(pod(f"last-{opened}"))
    until(lambda: len(live.fake.history.all("WATCH", "/pods")) > opened, "a new watch")


def gone(round_: Round, live: Following) -> None:
    """Both forms of 410, at any time: one fresh list, and no loop."""
    happen = round_.dice.choice((gone_at_the_start, gone_as_a_status, gone_midway, gone_while_paging))
    # No client gets a 410 that goes down with a cut connection.
    until(lambda: live.reflector("Pod").disconnected_at is None, "an open watch")
    before = live.reflector("Pod").lists
    change(round_, live)
    happen(live)
    live.fake.add(pod("p0"))
    until(lambda: live.reflector("Pod").lists > before, "a fresh list after 410", round_.heals_within)
    assert live.reflector("Pod").lists <= before + 2, "410: it lists in a loop"


def with_events(edit: Callable[[Round], Edit]) -> Break:
    """Break the events of some changes."""

    def do(round_: Round, live: Following) -> None:
        live.fake.faults.edit = edit(round_)
        change(round_, live)
        time.sleep(round_.dice.random() * 0.1)

    return do


def losing(round_: Round) -> Edit:
    """Withhold events of one type."""
    lost = round_.dice.choice(("ADDED", "MODIFIED", "DELETED"))
    return lambda type_, item: [] if type_ == lost else [event_line(type_, item)]


def merged(type_: str, item: dict[str, Any]) -> list[bytes]:
    """Report a pod that was deleted and created again as one that changed."""
    return [] if type_ == "DELETED" else [event_line("MODIFIED", item)]


def repeating(round_: Round) -> Edit:
    """Repeat events, early and late, and out of order."""
    dice, told = round_.dice, list[bytes]()

    def edit(type_: str, item: dict[str, Any]) -> list[bytes]:
        told.append(event_line(type_, item))
        return [told[-1], *(dice.choice(told) for _ in range(dice.randrange(4)))]

    return edit


def garbling(round_: Round) -> Edit:
    """Send bytes that are not an event: cut short, with bytes replaced, or without any sense."""
    dice = round_.dice

    def edit(type_: str, item: dict[str, Any]) -> list[bytes]:
        line = bytearray(event_line(type_, item))
        match dice.randrange(4):
            case 0:
                return [bytes(line[: dice.randrange(len(line))])]
            case 1:
                return [dice.randbytes(dice.randrange(1, 200)).replace(b"\n", b" ")]
            case 2:
                return [b"[" * dice.randrange(1, 100_000)]
            case _:
                # Only a byte that makes it unreadable: a changed name would be a valid event of the server.
                line[dice.randrange(8)] = 0xFF
                return [bytes(line)]

    return edit


def stale_apiserver(round_: Round) -> None:
    """Now and then another API server answers that is behind; nothing that was known is untold."""
    with ExitStack() as stack:
        fake, lagging = stack.enter_context(FakeApiServer()), FakeApiServer()
        lagging.add(pod("old"))
        fake.add(pod("old"), *(pod(f"p{at}") for at in range(30)))
        live = stack.enter_context(following(fake, AUDITING))
        for turn in range(round_.some(4, 8)):
            live.wait_equal()
            behind(round_, live, lagging)
            fake.add(pod(f"new-{turn}"))
            round_.faults += 1
            round_.heal(live)
            until(lambda: live.source.staleness < 0.3, "freshness")


def behind(round_: Round, live: Following, lagging: FakeApiServer) -> None:
    """For a while the other one answers."""

    def cut() -> int:
        return sum(not entry.status for entry in lagging.history.all("GET", "/pods"))

    before, cut_before = held(live.state), cut()
    live.fake.stop()
    lagging._port = live.fake._port
    lagging.start()
    lagging.faults.clear()
    lagging.faults.on("GET", "", Cut(), when=after(round_.dice.randrange(ANSWERS_BEHIND)))
    lagging.faults.on("WATCH", "/pods$", Answer(410), times=1)
    # By then each list that was answered has been read.
    until(lambda: cut() > cut_before or held(live.state) != before, "a list that is cut")
    assert held(live.state) == before, "it went back"
    lagging.stop()
    live.fake.start()


def restored(round_: Round, live: Following) -> None:
    """etcd goes back to a copy, and the API server with it; later versions may overtake known ones."""
    live.wait_equal()
    saved = live.fake.store.copy()
    change(round_, live)
    live.wait_equal()
    live.fake.stop()
    live.fake.store.restore(saved)
    # Not the pods of before: one that changed at the same version in both histories can't be told apart.
    for number in range(round_.dice.choice((0, 0, 1, 40))):
        live.fake.add(pod(f"late-{round_.faults}-{number}"))
    live.fake.start()


def down(round_: Round, live: Following) -> None:
    """The server does not answer for a while."""
    live.fake.stop()
    change(round_, live)
    time.sleep(round_.dice.random() * 0.5)
    live.fake.start()


def large_list(round_: Round) -> None:
    """Many pages, some of which are cut anywhere."""
    dice, count = round_.dice, round_.some(2000, 4000)
    with FakeApiServer() as fake:
        fake.add(*(node(f"n{at}") for at in range(50)))
        fake.add(*(pod(f"p{at:05}", node=f"n{at % 50}") for at in range(count)))
        for _ in range(round_.some(3, 6)):
            fake.faults.on("GET", "/pods$", Cut(after=True, at_byte=dice.randrange(1, 100_000)), times=1)
        with following(fake, replace(QUICK, page_size=dice.choice((50, 200, 500)))) as live:
            live.wait_equal()
        round_.inputs += count
        round_.count(fake)


STATES: tuple[tuple[dict[str, Any], int], ...] = (
    ({}, 1),
    ({"status": {"phase": "Running"}}, 1),
    ({"status": {"phase": "Unknown"}}, 1),
    ({"status": {"phase": "Succeeded"}}, 0),
    ({"status": {"phase": "Failed"}}, 0),
    ({"node": ""}, 0),
    ({"node": "elsewhere"}, 0),
    ({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, 1),
    ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, 1),
)
"""A pod's fields, and whether it counts on its node."""


def pod_states(round_: Round) -> None:
    """Pods go from any state to any other; what the node has is the sum of those that count."""
    dice, counts = round_.dice, dict[str, int]()
    with FakeApiServer() as fake:
        fake.add(node("n"))
        with following(fake) as live:
            for _ in range(round_.some(10, 20)):
                for _ in range(30):
                    name, (fields, counts_as) = f"p{dice.randrange(20)}", dice.choice(STATES)
                    millicores = dice.randrange(1, 3000)
                    counts[name] = counts_as * millicores
                    fake.add(pod(name, **{"node": "n", "requests": {"cpu": f"{millicores}m"}, **fields}))
                    round_.inputs += 1
                live.wait_equal()
                table = live.state.snapshot.nodes
                assert table.requested[CPU_ROW, table.index["n"]] == sum(counts.values())


def chaos(round_: Round) -> None:
    """Everything at once."""
    with FakeApiServer(bookmark_seconds=0.1) as fake, following(fake, TIMERS) as live:
        for turn in range(round_.some(4, 8)):
            broken_by = Chaos(live, round_.seed + turn)
            broken_by.run(120)
            round_.faults += broken_by.faults
            round_.inputs += broken_by.changes
            round_.heal(live)


SILENT = replace(AUDITING, watch_shortest=1, watch_longest=2, watch_margin=0.2)

ROWS = (
    Row("B1", "watch_silent_drop", broken(silent_drop, SILENT)),
    Row("B2", "watch_410_event_and_status", broken(gone, QUICK)),
    Row("B3", "watch_lost_delete", broken(with_events(losing))),
    Row("B4", "watch_name_reuse", broken(with_events(lambda _: merged))),
    Row("B5", "watch_dup_reorder_old", broken(with_events(repeating), QUICK, 50, 100)),
    Row("B6", "watch_garbage", broken(with_events(garbling), least=40, most=80)),
    Row("B7", "stale_apiserver", stale_apiserver),
    Row("B8", "apiserver_down", broken(down)),
    Row("T13", "etcd_restored", broken(restored)),
    Row("B9", "list_in_pages", large_list),
    Row("B10", "pod_states", pod_states),
    Row("B", "chaos", chaos),
)
