"""The command `mooring-extender`: flags, their twins in the environment, start, stop and exit codes."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.serving.commands import duration
from mooring_extender.cli import _parser, main
from tests.extender.fakes import Rules, grpc_server, question

COMMAND = [sys.executable, "-m", "mooring_extender"]


@contextmanager
def running(*flags: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the command, and the URL that it says it is ready at."""
    with subprocess.Popen(
        [*COMMAND, "--listen", "127.0.0.1:0", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        assert process.stdout
        ready = re.fullmatch(
            r"mooring-extender ready: (https?://127\.0\.0\.1:\d+)\n", process.stdout.readline()
        )
        try:
            assert ready
            yield process, ready.group(1)
        finally:
            process.kill()


def status_of(path: str, connection: http.client.HTTPConnection) -> int:
    connection.request("GET", path)
    return connection.getresponse().status


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_serves_until_a_signal_and_exits_with_0(number: signal.Signals) -> None:
    with (
        grpc_server(Rules()) as address,
        running("--path-prefix", "/p", "--drain-delay", "0", MOORING_ADAPTER_SERVER=address) as (
            process,
            url,
        ),
    ):
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        connection.request("POST", "/p/filter", question(), {"Content-Type": "application/json"})
        assert connection.getresponse().status == 200
        process.send_signal(number)
        assert process.wait(30) == 0
        connection.close()
        assert process.stdout
        assert process.stdout.read() == ""


@pytest.mark.slow
def test_drains_after_a_signal_until_the_next() -> None:
    """Not ready and ending its connections, it still answers; a second signal ends that."""
    with (
        grpc_server(Rules()) as address,
        running("--drain-delay", "1h", "--server", address) as (process, url),
    ):
        host = url.removeprefix("http://")
        process.send_signal(signal.SIGTERM)
        while status_of("/readyz", http.client.HTTPConnection(host, timeout=30)) == 200:
            assert process.poll() is None
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("POST", "/filter", question(), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        assert (reply.status, reply.getheader("connection")) == (200, "close")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_taken_port_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--listen", f"127.0.0.1:{taken.getsockname()[1]}"]) == 1
    assert "mooring-extender: cannot listen on 127.0.0.1:" in capsys.readouterr().err


def test_unusable_certificate_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--listen", "127.0.0.1:0", "--tls-cert-file", str(tmp_path / "none.pem")]) == 1
    assert "cannot serve HTTPS with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        pytest.param(["--listen", "8888"], "'8888' is not HOST:PORT", id="no-host"),
        pytest.param(["--listen", "127.0.0.1:65536"], "is not HOST:PORT", id="port-too-high"),
        pytest.param(["--server", "nowhere"], "'nowhere' is not HOST:PORT", id="server"),
        pytest.param(["--http-timeout", "2"], "'2' is not a duration", id="duration-without-unit"),
        pytest.param(["--http-timeout", "0s"], "'0s' is not a duration", id="duration-zero"),
        pytest.param(["--max-body-bytes", "0"], "'0' is not a whole number", id="no-body"),
        pytest.param(["--v", "11"], "'11' is not a number from 0 to 10", id="verbosity"),
        pytest.param(["--insecure-listen=maybe"], "neither true nor false", id="boolean"),
        pytest.param(
            ["--insecure-listen", "true"], "has its value behind =, --insecure-listen=true", id="switch"
        ),
        pytest.param(["--listen", "0.0.0.0:0"], "is not a loopback address", id="not-loopback"),
        pytest.param(["--listen", "node.example:0"], "is not a loopback address", id="name-not-loopback"),
        pytest.param(["--tls-private-key-file", "k"], "need --tls-cert-file", id="key-alone"),
        pytest.param(["--client-ca-file", "a"], "need --tls-cert-file", id="authority-alone"),
        pytest.param(["--prof", "x"], "unrecognized arguments", id="abbreviated"),
        pytest.param(["x"], "unrecognized arguments", id="positional"),
    ],
)
def test_wrong_usage_exits_with_2(flags: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(flags)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        pytest.param([], False, id="absent"),
        pytest.param(["--insecure-listen"], True, id="bare"),
        pytest.param(["--insecure-listen=true"], True, id="true"),
        pytest.param(["--insecure-listen=false"], False, id="false"),
    ],
)
def test_a_switch(flags: list[str], value: bool) -> None:
    parser = _parser({})
    assert parser.parse_args(flags).insecure_listen is value
    assert "--insecure-listen[=BOOL]" in parser.format_usage()
    assert "--insecure-listen[=BOOL]" in parser.format_help()


@pytest.mark.slow
def test_a_hangup_is_told_and_changes_nothing() -> None:
    with (
        subprocess.Popen(
            [*COMMAND, "--listen", "127.0.0.1:0", "--drain-delay", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        assert "SIGHUP changes nothing" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


FLAGS = {
    "listen": ("[::1]:9", ("::1", 9)),
    "server": ("unix:/run/m.sock", "unix:/run/m.sock"),
    "profile": ("gpu", "gpu"),
    "tracing-config-file": ("t.yaml", "t.yaml"),
    "path-prefix": ("/api", "/api"),
    "http-timeout": ("1m30s", 90.0),
    "drain-delay": ("0", 0.0),
    "max-body-bytes": ("7", 7),
    "tls-cert-file": ("c", "c"),
    "tls-private-key-file": ("k", "k"),
    "client-ca-file": ("a", "a"),
    "allow-client": ("a,b", frozenset({"a", "b"})),
    "insecure-binding": ("true", True),
    "impersonate": ("true", True),
    "allow-host": ("a,b", frozenset({"a", "b"})),
    "server-ca-file": ("x", "x"),
    "server-cert-file": ("y", "y"),
    "server-key-file": ("z", "z"),
    "insecure-listen": ("true", True),
    "v": ("4", 4),
    "logging-format": ("json", "json"),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_has_a_twin_that_yields_to_it(flag: str) -> None:
    text, value = FLAGS[flag]
    name = flag.replace("-", "_")
    twin = {f"MOORING_ADAPTER_{name.upper()}": text}
    assert getattr(_parser(twin).parse_args([]), name) == value
    assert getattr(_parser({}).parse_args([f"--{flag}={text}"]), name) == value
    assert getattr(_parser({}).parse_args([]), name) != value
    wrong = {f"MOORING_ADAPTER_{name.upper()}": "other:1"} if flag in {"listen", "server"} else {}
    assert getattr(_parser(wrong).parse_args([f"--{flag}={text}"]), name) == value


def test_no_flag_is_left_out_here() -> None:
    assert {f"--{flag}" for flag in FLAGS} == set(
        re.findall(r"^  (?:-v(?: LEVEL)?, )?(--[a-z-]+)", _parser({}).format_help(), re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("2s", 2.0), ("500ms", 0.5), ("1.5s", 1.5), ("1h", 3600.0), ("1m0.5s", 60.5)]
)
def test_duration(text: str, seconds: float) -> None:
    assert duration(text) == seconds
