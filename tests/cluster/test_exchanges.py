"""Requests without a waiting caller, over a server with scripted answers."""

from __future__ import annotations

import queue
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.api import ApiServer, Response
from mooring.cluster.api.connection import ApiRequest
from mooring.framework.errors import UnavailableError
from mooring.http_client.exchanges import CONNECTIONS
from tests.certificates import Authority
from tests.fake_api_server import FakeApiServer
from tests.fake_api_server.faults import Answer, Hang
from tests.process import until

from .test_whole_answers import (
    CHUNKED,
    CLOSING,
    CONTINUE,
    END,
    LENGTH,
    UNTIL_END,
    client,
    each_byte,
    scripted,
)

SECONDS = 30.0


def posting(before: Any = None) -> ApiRequest:
    return ApiRequest("POST", "/pods", {}, b"{}", "application/json", before)


def exchanged(api: ApiServer, request: ApiRequest | None = None) -> Response | UnavailableError:
    """Return the answer to a request that was begun."""
    answers: queue.Queue[Response | UnavailableError] = queue.Queue()
    assert api.begin(request or posting(), answers.put)
    return answers.get(timeout=SECONDS)


@pytest.mark.parametrize(
    ("pieces", "connections"),
    [
        pytest.param([LENGTH], 1, id="of known length"),
        pytest.param(each_byte(LENGTH), 1, id="byte by byte"),
        pytest.param([CHUNKED + b"\r\n"], 1, id="in chunks"),
        pytest.param([CONTINUE, LENGTH], 1, id="after an interim answer"),
        pytest.param([UNTIL_END, END], 2, id="until the connection ends"),
        pytest.param([CLOSING], 2, id="said to be the last one"),
        pytest.param([LENGTH, END], 2, id="an idle connection is closed"),
        pytest.param([LENGTH + LENGTH], 2, id="and one that nobody asked for"),
        pytest.param([LENGTH + LENGTH[:5]], 2, id="and the beginning of one that nobody asked for"),
    ],
)
def test_an_answer_is_told(pieces: Sequence[bytes], connections: int) -> None:
    with scripted(*pieces) as (server, address):
        api = client(f"http://{address}")
        for number in range(2):
            if number == 0 or connections == 2:
                # It is found out that a connection has ended, without a request.
                until(lambda: not api.ready)
                assert api.open_ahead()
            answer = exchanged(api)
            assert isinstance(answer, Response)
            assert (answer.status, answer.body) == (201, b"{}")
        assert [number for number, _ in server.requests] == [1, connections]
        api.close()


def test_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("api")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    with scripted(*each_byte(LENGTH), tls=tls) as (server, address):
        api = client(f"https://{address}", ssl_ca_cert=str(authority.certificate))
        assert api.open_ahead()
        for _ in range(3):
            answer = exchanged(api)
            assert isinstance(answer, Response)
            assert answer.body == b"{}"
        assert [number for number, _ in server.requests] == [1, 1, 1]
        api.close()


def test_a_request_that_ends_without_an_answer() -> None:
    with scripted(b"HTTP/1.1 201 Created\r\nContent-Le", END) as (_, address):
        api = client(f"http://{address}")
        assert api.open_ahead()
        answer = exchanged(api)
        assert isinstance(answer, UnavailableError)
        assert answer.reason == "API_SERVER_UNAVAILABLE"
        assert not api.ready
        api.close()


def test_a_request_whose_time_is_over() -> None:
    with FakeApiServer() as fake:
        fake.faults.on("POST", "pods", Hang())
        api = fake.client(timeout_seconds=0.2)
        assert api.open_ahead()
        answer = exchanged(api)
        assert isinstance(answer, UnavailableError)
        assert "the time for it is over" in answer.message
        api.close()


def test_nothing_is_sent_that_may_not_be() -> None:
    def before() -> None:
        raise UnavailableError("another replica leads", reason="NOT_LEADER")

    with scripted(LENGTH) as (server, address):
        api = client(f"http://{address}")
        assert api.open_ahead()
        with pytest.raises(UnavailableError, match="another replica leads"):
            api.begin(posting(before), lambda _: None)
        assert isinstance(exchanged(api), Response), "the connection is as good as before"
        assert [number for number, _ in server.requests] == [1]
        api.close()


def test_no_more_requests_at_a_time_than_connections() -> None:
    answers: queue.Queue[Response | UnavailableError] = queue.Queue()
    with FakeApiServer() as fake:
        fake.faults.on("POST", "pods", Hang())
        api = fake.client()
        opened = 0
        while api.open_ahead():
            assert api.begin(posting(), answers.put)
            opened += 1
        assert opened == CONNECTIONS
        assert not api.begin(posting(), answers.put)
        api.close()


def test_a_broken_callback_does_not_stop_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: object) -> None:
        raise ValueError("nonsense")

    with scripted(LENGTH) as (_, address):
        api = client(f"http://{address}")
        assert api.open_ahead()
        assert api.begin(posting(), broken)
        until(lambda: api.ready)
        assert isinstance(exchanged(api), Response)
        assert "nonsense" in caplog.text
        api.close()


def test_a_request_that_is_put_off_is_finished_as_others_are() -> None:
    with FakeApiServer() as fake:
        fake.faults.on("POST", "pods", Answer(429, retry_after=0), times=1)
        api = fake.client()
        assert api.open_ahead()
        request = posting()
        answer = exchanged(api, request)
        assert isinstance(answer, Response)
        assert (answer.status, answer.headers["retry-after"]) == (429, "0")
        assert api.finish(request, answer).status == 404
        api.close()
