"""kube-scheduler's flags: every one is taken, and what is ignored is named."""

from __future__ import annotations

import argparse
import re
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.app.https import CIPHER_SUITES, server_context
from mooring.cli.kube_scheduler_flags import IGNORED, flag_values, https_options
from mooring.cli.main import _parser
from mooring.framework.errors import InvalidArgumentError
from tests.cli.commands import call, write_config
from tests.cli.schedulers import MINE

_LISTED = """
allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig
authentication-skip-lookup authentication-token-webhook-cache-ttl
authentication-tolerate-lookup-failure authorization-always-allow-paths authorization-kubeconfig
authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bind-address
cert-dir client-ca-file config contention-profiling disable-http2-serving disabled-metrics
emulated-version feature-gates help http2-max-streams-per-connection kube-api-burst
kube-api-content-type kube-api-qps kubeconfig leader-elect leader-elect-lease-duration
leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
leader-elect-resource-namespace leader-elect-retry-period log-flush-frequency
log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream
logging-format master min-compatibility-version permit-address-sharing permit-port-sharing
pod-max-in-unschedulable-pods-duration profiling requestheader-allowed-names
requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
requestheader-uid-headers requestheader-username-headers secure-port show-hidden-metrics-for-version
tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version tls-private-key-file
tls-sni-cert-key v version vmodule write-config-to
"""
FLAGS = _LISTED.split()
"""Those of kube-scheduler 1.36; the end-to-end tests compare the list with the program."""

VALUES = {
    "bind-address": "::1",
    "logging-format": "json",
    "tls-min-version": "VersionTLS12",
    "emulated-version": "kube=1.35",
    "leader-elect-resource-lock": "leases",
    "feature-gates": "A=true",
    **dict.fromkeys(("secure-port", "v", "kube-api-burst", "kube-api-qps"), "7"),
}
SWITCHES = {name for name in FLAGS if name.startswith("permit-")}
SWITCHES |= {
    "authentication-skip-lookup",
    "authentication-tolerate-lookup-failure",
    "leader-elect",
    "version",
}


def parsed(*words: str) -> argparse.Namespace:
    return _parser(["scheduler"]).parse_args(["scheduler", *words])


def sample(name: str) -> str:
    if name in SWITCHES or name in VALUES or IGNORED.get(name):
        return VALUES.get(name, "true")
    times = ("duration", "-ttl", "-deadline", "-period")
    return "7s" if name.endswith(times) else "some"


@pytest.mark.parametrize("name", [name for name in FLAGS if name != "help"])
def test_every_flag_of_kube_scheduler_is_taken(name: str) -> None:
    given = flag_values(parsed(f"--{name}={sample(name)}"))
    assert name in given
    assert given[name] in (sample(name), f"[{sample(name)}]", "1.35")


def test_what_is_not_given_is_shown_with_its_default() -> None:
    shown = flag_values(parsed())
    assert set(FLAGS) <= set(shown)
    assert list(shown) == sorted(shown)
    assert {name: shown[name] for name in ("bind-address", "leader-elect", "profiling", "help")} == {
        "bind-address": "0.0.0.0",
        "leader-elect": "true",
        "profiling": "true",
        "help": "false",
    }
    assert shown["pod-max-in-unschedulable-pods-duration"] == "5m0s"
    assert shown["authorization-always-allow-paths"] == "[/healthz,/readyz,/livez]"


def said(capsys: pytest.CaptureFixture[str], tmp_path: Path, *flags: str) -> list[str]:
    config = write_config(tmp_path / "config.yaml", MINE)
    result = call(capsys, "scheduler", "--config", config, "--source=kubernetes:none", *flags)
    assert result.code == 1
    return [line for line in result.complaints if "ignored: --" in line]


def test_ignored_flags_are_named_in_one_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flags = ["--profiling", "--vmodule=a=1", "--kube-api-qps=5", "--requestheader-client-ca-file", "ca.crt"]
    (line,) = said(capsys, tmp_path, *flags)
    assert "--profiling (there is no /debug/pprof" in line
    assert "--vmodule (--v sets the verbosity everywhere)" in line
    assert "--kube-api-qps (--config sets it" in line
    assert "--requestheader-client-ca-file (no front proxy is trusted" in line


def test_what_asks_for_what_is_so_anyway_is_not_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert said(capsys, tmp_path, "--profiling=false", "--disable-http2-serving") == []


def test_the_version_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "scheduler", "--version", "--emulated-version=kube=1.35")
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(r"mooring \S+ \(Kubernetes 1\.35, Python 3\.\S+\)\n", result.out)


def test_the_configuration_in_force_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.yaml", MINE, parallelism=3)
    file = tmp_path / "written.yaml"
    flags = ["--leader-elect-resource-name=other", "--write-config-to", file]
    assert call(capsys, "scheduler", "--config", config, *flags).code == 0
    written = yaml.safe_load(file.read_text())
    assert (written["kind"], written["parallelism"]) == ("KubeSchedulerConfiguration", 3)
    assert written["leaderElection"]["resourceName"] == "other"
    assert [profile["schedulerName"] for profile in written["profiles"]] == ["mine"]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        pytest.param(["--tls-min-version=TLS12"], "'TLS12' is not one of VersionTLS10", id="TLS version"),
        pytest.param(["--logging-format=xml"], "'xml' is not one of text, json", id="log format"),
        pytest.param(["--emulated-version=wardle=1.2"], "'wardle' is not kube", id="other component"),
        pytest.param(["--ip-resource", "10"], "set ipsPerNode: 10 in the args of UnderlayIP", id="IPs"),
        pytest.param(["--leader-elect-resource-lock=endpoints"], "is not leases", id="lock"),
    ],
)
def test_wrong_values_are_usage_errors(
    capsys: pytest.CaptureFixture[str], flags: list[str], complaint: str
) -> None:
    result = call(capsys, "scheduler", *flags)
    assert result.code == 2
    assert complaint in result.err


def names_of(context: ssl.SSLContext) -> set[str]:
    return {suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"}


def test_tls_is_limited_as_asked() -> None:
    suites = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"
    context = server_context(
        https_options(parsed("--tls-min-version=VersionTLS13", f"--tls-cipher-suites={suites}"))
    )
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert names_of(context) == {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"}


def test_suites_of_tls_1_3_alone_leave_no_older_version() -> None:
    context = server_context(https_options(parsed("--tls-cipher-suites=TLS_AES_128_GCM_SHA256")))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        pytest.param("TLS_NOPE", "TLS_NOPE: must be of TLS_ECDHE", id="unknown"),
        pytest.param("TLS_RSA_WITH_RC4_128_SHA", "OpenSSL has none of TLS_RSA_WITH_RC4", id="gone"),
    ],
)
def test_suites_that_cannot_be_had(names: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        server_context(https_options(parsed(f"--tls-cipher-suites={names}")))


def test_every_other_suite_is_known_to_openssl() -> None:
    gone = {name for name in CIPHER_SUITES if "RC4" in name or "3DES" in name}
    for name, openssl in CIPHER_SUITES.items():
        if openssl and name not in gone:
            context: Any = server_context(https_options(parsed(f"--tls-cipher-suites={name}")))
            assert names_of(context) == {openssl}


def test_a_certificate_that_is_made_is_kept_where_asked(tmp_path: Path) -> None:
    options = https_options(parsed(f"--cert-dir={tmp_path / 'new'}"))
    server_context(options)
    kept = {file.name: file.read_bytes() for file in (tmp_path / "new").iterdir()}
    assert set(kept) == {"kube-scheduler.crt", "kube-scheduler.key"}
    assert (tmp_path / "new" / "kube-scheduler.key").stat().st_mode & 0o077 == 0
    server_context(options)
    assert {file.name: file.read_bytes() for file in (tmp_path / "new").iterdir()} == kept
