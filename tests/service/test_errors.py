"""The table of errors and the tree above it."""

import ast
from pathlib import Path

import grpc
import pytest

import mooring
from mooring.framework import errors
from mooring.framework.args import FieldError
from mooring.serving.calls.errors import CODES, failure_of
from mooring.telemetry.metrics import camel_case
from mooring_client.v1.errors_pb2 import ErrorReason

CLASSES = sorted(errors.MooringError.__subclasses__(), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CLASSES])
def test_every_class_has_a_code(kind: type[errors.MooringError]) -> None:
    assert kind in CODES


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.InvalidArgumentError([FieldError("a", "b")]), id="InvalidArgumentError"),
        pytest.param(errors.DeadlineExceededError("late"), id="DeadlineExceededError"),
        pytest.param(errors.PermissionDeniedError("no"), id="PermissionDeniedError"),
        pytest.param(
            errors.PluginFailureError("raised", plugin="P", extension_point="Filter"), id="PluginFailureError"
        ),
        pytest.param(errors.UnimplementedError("no"), id="UnimplementedError"),
    ],
)
def test_reasons_that_classes_set_are_in_the_contract(error: errors.MooringError) -> None:
    assert f"ERROR_REASON_{error.reason}" in ErrorReason.keys()  # noqa: SIM118 - an enum is not a mapping


def test_resource_exhausted_means_repeat_after_a_pause() -> None:
    """A quota is FAILED_PRECONDITION: a client that repeats by the code alone would repeat in vain."""
    reasons = set()
    for path in Path(mooring.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())) if "Exhausted" in path.read_text() else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ResourceExhaustedError":
                reasons |= {ast.literal_eval(each.value) for each in node.keywords if each.arg == "reason"}
    assert reasons == {"OVERLOADED", "WORKERS_ABANDONED"}


def test_a_subclass_has_the_code_of_its_parent() -> None:
    class GoneError(errors.NotFoundError):
        pass

    assert failure_of(GoneError("gone", reason="POD_NOT_FOUND")).code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("code", "name"),
    [
        pytest.param(grpc.StatusCode.OK, "OK", id="ok"),
        pytest.param(grpc.StatusCode.CANCELLED, "Canceled", id="one l"),
        pytest.param(grpc.StatusCode.INVALID_ARGUMENT, "InvalidArgument", id="two words"),
    ],
)
def test_codes_are_spelt_as_go_spells_them(code: grpc.StatusCode, name: str) -> None:
    assert camel_case(code) == name
