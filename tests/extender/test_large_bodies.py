"""Bodies of megabytes: their cost, their limit together, and other calls, which continue."""

import socket
import threading
import tracemalloc

import pytest

from mooring.serving.calls.memory import FREE_BYTES
from mooring_extender import wire
from mooring_extender.app import ExtenderApp
from mooring_extender.questions import REMEMBERED_BYTES, Questions
from tests.extender.fakes import FakeClient, listening, question
from tests.extender.test_listener import PATIENCE, answer, connect, head, is_closed, whole
from tests.process import until

MANY = 10 * wire.MAX_NODES
LARGE = question(["n" * 250] * 8000)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(question(["n"] * MANY), "NodeNames has more than 131072", id="names"),
        pytest.param(
            question(["n"] * MANY).replace(b'"NodeNames":', b'"NodeNames" :'),
            "NodeNames has more than 131072",
            id="names written otherwise",
        ),
        pytest.param(
            b'{"Pod":{},"Nodes":{"items":[%s]},"NodeNames":null}' % b",".join([b"{}"] * MANY),
            f"Nodes has {MANY} items",
            id="nodes",
        ),
    ],
)
def test_nodes_without_number_are_rejected_before_each_costs_something(body: bytes, text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(wire.ArgumentsError, match=text):
            Questions().read(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    per_node = peak / MANY
    assert per_node < 100


def test_as_many_nodes_as_allowed_are_read() -> None:
    names = [f"node-{number}" for number in range(wire.MAX_NODES)]
    assert Questions().read(question(names)).names.listed == names


@pytest.mark.parametrize("remembered", [True, False])
def test_only_lists_of_moderate_size_are_remembered(remembered: bool) -> None:
    count = REMEMBERED_BYTES // 253 + (-10 if remembered else 10)
    body, questions = question(["n" * 250] * count), Questions()
    first = questions.read(body).names
    assert (questions.read(body).names is first) == remembered


def test_calls_go_on_while_a_large_body_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go_on, read = threading.Event(), threading.Event(), Questions.read

    def slowly(self: Questions, body: bytes) -> object:
        if len(body) == len(LARGE):
            reading.set()
            assert go_on.wait(PATIENCE)
        return read(self, body)

    monkeypatch.setattr(Questions, "read", slowly)
    with listening(FakeClient, http_timeout=2 * PATIENCE) as running, connect(running) as large:
        large.sendall(whole(LARGE))
        assert reading.wait(PATIENCE)
        with connect(running) as good:
            good.settimeout(PATIENCE / 3)
            try:
                for _ in range(5):
                    good.sendall(whole())
                    assert answer(good).status == 200
            finally:
                go_on.set()
        assert answer(large).status == 200


def test_bodies_together_have_a_budget_beside_which_small_ones_are_read() -> None:
    def unfinished(connection: socket.socket) -> None:
        connection.sendall(head(2 * len(LARGE)) + LARGE)

    with (
        listening(FakeClient, body_budget_bytes=len(LARGE)) as running,
        connect(running) as silent,
        connect(running) as second,
        connect(running) as good,
    ):
        unfinished(silent)
        app = running._app
        assert isinstance(app, ExtenderApp)
        budget = app._budget
        until(lambda: budget.left == FREE_BYTES)
        unfinished(second)
        reply = answer(second)
        assert (reply.status, reply.headers["connection"], list(reply.json)) == (503, "close", ["error"])
        assert is_closed(second)
        good.sendall(whole())
        assert answer(good).status == 200
        silent.close()
        until(lambda: budget.left == len(LARGE))
        good.sendall(whole(LARGE))
        assert answer(good).status == 200
        until(lambda: budget.left == len(LARGE))
