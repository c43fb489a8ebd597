"""The TracingConfiguration's file."""

from pathlib import Path

import pytest

from mooring.tracing.configuration import read_configuration, tracer_of

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"


@pytest.mark.parametrize(
    ("text", "endpoint", "rate"),
    [
        pytest.param(HEAD, "localhost:4317", 0, id="defaults"),
        pytest.param(f"{HEAD}endpoint: otel:4317\nsamplingRatePerMillion: 100", "otel:4317", 100, id="both"),
        pytest.param(f"{HEAD}endpoint: unix:///run/otel.sock", "unix:///run/otel.sock", 0, id="socket"),
        pytest.param(HEAD.replace("/v1", "/v1beta1"), "localhost:4317", 0, id="beta"),
    ],
)
def test_what_it_says(text: str, endpoint: str, rate: int, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(text)
    found = read_configuration(str(tmp_path / "t.yaml"))
    assert (found.endpoint, found.sampling_rate_per_million) == (endpoint, rate)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(HEAD + "samplingRatePerMillion: -1", ">= 0", id="below 0"),
        pytest.param(HEAD + "samplingRatePerMillion: 1000001", "<= 1000000", id="above a million"),
        pytest.param(HEAD + "samplingRate: 1", "unknown field `samplingRate`", id="unknown field"),
        pytest.param(HEAD + "endpoint: http://otel:4318", "must be HOST:PORT", id="not gRPC"),
        pytest.param("kind: TracingConfiguration", "missing required field `apiVersion`", id="no version"),
        pytest.param(HEAD.replace("Tracing", "Encryption"), "$.kind", id="another kind"),
        pytest.param("[", "not YAML", id="no YAML"),
    ],
)
def test_a_fault_is_told_with_the_file(text: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"t\.yaml: ") as raised:
        tracer_of(str(file), "test")
    assert fault in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.yaml: No such file"):
        tracer_of(str(tmp_path / "none.yaml"), "test")


def test_without_a_file_nothing_is_traced() -> None:
    assert tracer_of("", "test") is None
