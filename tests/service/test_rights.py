"""The table of rights: each door has a row for each call, and the page of rights shows the table."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mooring.mcp.tools import Tools
from mooring.serving.access.roles import (
    ADAPTED,
    METHODS,
    NOTHING,
    PAGES,
    ROLES,
    TOOLS,
    VERBS,
    VIRTUAL,
    Right,
    Role,
    roles_with,
    row_of,
    table,
)
from mooring.web.app import ROUTES
from mooring_client.plugin_host.v1 import plugin_host_service_pb2
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)
from mooring_estimator.wire import estimator_service_pb2 as estimator
from mooring_expander.wire import expander_service_pb2 as expander
from mooring_extender import failures

FILES = (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
    plugin_host_service_pb2,
)
PROTOS = Path("protos/mooring")
RIGHTS = Path("docs/run/rights.md")


def methods(file: ModuleType) -> set[str]:
    return {
        f"/{service.full_name}/{method.name}"
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


def called(file: Any) -> set[str]:
    """Return the calls that an adapter answers, as SERVICE/METHOD."""
    services = file.DESCRIPTOR.services_by_name.values()
    return {f"{service.name}/{method.name}" for service in services for method in service.methods}


def test_each_method_has_a_row_and_each_row_a_method() -> None:
    assert {name.partition(" ")[0] for name in METHODS} == set().union(*map(methods, FILES))


def test_each_service_of_the_contract_is_looked_at() -> None:
    services = {path.stem for path in PROTOS.rglob("*_service.proto")}
    assert services == {file.__name__.rpartition(".")[2].removesuffix("_pb2") for file in FILES}


@pytest.mark.parametrize(
    ("rows", "offered"),
    [
        pytest.param(VERBS, set(failures.VERBS), id="the adapter's verbs"),
        pytest.param(ADAPTED, {*called(expander), *called(estimator)}, id="the calls of gRPC adapters"),
        pytest.param(PAGES, set(ROUTES), id="the page's paths"),
        pytest.param(TOOLS, {name for name in vars(Tools) if not name.startswith("_")}, id="the tools"),
    ],
)
def test_each_other_door_has_a_row_for_each_call(rows: dict[str, Right], offered: set[str]) -> None:
    assert set(rows) == offered


@pytest.mark.parametrize("right", Right, ids=lambda right: str(right.name))
def test_each_right_belongs_to_a_role_and_is_a_question_to_the_api_server(right: Right) -> None:
    assert roles_with(right)
    assert right in VIRTUAL


def test_only_an_impersonator_impersonates_and_only_the_operator_has_the_rest() -> None:
    assert roles_with(Right.IMPERSONATE) == ("impersonator",)
    others = [ROLES[role] for role in Role if role is not Role.IMPERSONATOR]
    assert all(ROLES[Role.OPERATOR] & rights == rights for rights in others)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("Bind", "/mooring.v1.SchedulingService/Bind"),
        ("SchedulingService/Bind", "/mooring.v1.SchedulingService/Bind"),
        ("/mooring.v1.SchedulingService/Bind", "/mooring.v1.SchedulingService/Bind"),
        ("Schedule", "/mooring.v1.SchedulingService/Schedule"),
        ("Schedule to bind", "/mooring.v1.SchedulingService/Schedule to bind"),
        ("bind", None),
        ("", None),
    ],
)
def test_a_method_is_found_by_the_end_of_its_name(name: str, method: str | None) -> None:
    found = row_of(name)
    assert (found and found[0]) == method


def shown_table() -> str:
    lines = ["| right | roles | calls |", "|---|---|---|"]
    rows = table()
    for right in dict.fromkeys(row.right for row in rows):
        some = [row for row in rows if row.right == right]
        calls = ", ".join(f"`{row.call.rpartition('/mooring.')[2].removeprefix('v1.')}`" for row in some)
        lines.append(f"| {right} | {', '.join(some[0].roles)} | {calls} |")
    return "\n".join(lines)


def test_the_page_of_rights_shows_the_table() -> None:
    assert shown_table() in RIGHTS.read_text(encoding="utf-8"), f"put this into {RIGHTS}:\n{shown_table()}"


def test_no_row_is_for_nobody_but_that_of_the_pages_methods() -> None:
    assert [
        name for rows in (METHODS, VERBS, ADAPTED, PAGES, TOOLS) for name in rows if rows[name] is NOTHING
    ] == ["METHOD"]
