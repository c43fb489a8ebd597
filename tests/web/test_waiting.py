"""Calls that wait for decisions end with the tab that made them, and with the page's process."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator

import pytest

from mooring.serving.http.hosts import Hosts
from mooring.serving.http.server import HttpServer
from mooring.web.app import WebApp
from mooring.web.gateway import Gateway
from mooring.web.processes import Address
from tests.process import START_SECONDS

CALL = "/api/v1/mooring.v1.DecisionService/ListDecisions"


class WaitingCall:
    """Replaces the gateway's calls: begins, and ends when it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()

    async def __call__(self, *_: object) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> WaitingCall:
    call = WaitingCall()
    monkeypatch.setattr(Gateway, "call", call)
    return call


@pytest.fixture
def listener() -> Iterator[HttpServer]:
    server = HttpServer(WebApp([Address("gone", "127.0.0.1:1")], None, Hosts(()), ""), "127.0.0.1", 0)
    server.start()
    yield server
    server.withdraw()
    server.stop()


def ask(listener: HttpServer, waiting: WaitingCall) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=START_SECONDS)
    connection.request("POST", CALL, b"{}", {"Content-Type": "application/json"})
    assert waiting.begun.wait(START_SECONDS)
    return connection


def test_a_tab_that_goes_ends_its_call(listener: HttpServer, waiting: WaitingCall) -> None:
    ask(listener, waiting).close()
    assert waiting.cancelled.wait(START_SECONDS)


def test_the_end_of_the_process_ends_all_calls(listener: HttpServer, waiting: WaitingCall) -> None:
    connection = ask(listener, waiting)
    listener.withdraw()
    response = connection.getresponse()
    assert (response.status, b"DRAINING" in response.read()) == (503, True)
    assert waiting.cancelled.wait(START_SECONDS)
    connection.close()
