"""Pages from which ``make docs`` builds the site, and links that lead nowhere."""

import json
from pathlib import Path

import pytest
from google.protobuf.descriptor import FileDescriptor

from mooring_client.v1 import (
    cluster_service_pb2,
    errors_pb2,
    nodes_pb2,
    objects_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    verdicts_pb2,
)
from tools.docs import contract, links, pages, search

CONTRACT: list[FileDescriptor] = [
    module.DESCRIPTOR
    for module in (
        cluster_service_pb2,
        errors_pb2,
        nodes_pb2,
        objects_pb2,
        plugin_service_pb2,
        scheduling_service_pb2,
        verdicts_pb2,
    )
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "style.css").write_text("")
    (tmp_path / "sub" / "index.html").write_text('<h2 id="here">x</h2><a href="../index.html">up</a>')
    return tmp_path


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('<a href="sub/#here">x</a>', [], id="a heading of another page"),
        pytest.param('<a href="#own" id="own">x</a>', [], id="a heading of the page itself"),
        pytest.param('<a href="https://example.com/">x</a>', [], id="a link to another host"),
        pytest.param(
            '<a href="sub/#there">x</a>', ["index.html: sub/#there: no such heading"], id="no heading"
        ),
        pytest.param('<a href="other.html">x</a>', ["index.html: other.html: no such page"], id="no page"),
        pytest.param('<img src="a.svg">', ["index.html: a.svg: no such page"], id="no picture"),
        pytest.param('<link rel="stylesheet" href="style.css">', [], id="a style sheet of the site"),
        pytest.param(
            '<script src="https://example.com/x.js"></script>',
            ["index.html: loads https://example.com/x.js"],
            id="a script of another host",
        ),
        pytest.param(
            '<link rel="stylesheet" href="//example.com/x.css">',
            ["index.html: loads //example.com/x.css"],
            id="a style sheet of another host",
        ),
    ],
)
def test_links_that_lead_nowhere_and_what_others_serve_are_found(
    site: Path, body: str, expected: list[str]
) -> None:
    (site / "index.html").write_text(body)
    assert list(links.faults(site)) == expected


def test_links_between_pages_stay_and_others_are_text(tmp_path: Path) -> None:
    pages.write_pages(tmp_path)
    text = (tmp_path / "docs" / "clients.md").read_text()
    assert "The contract is protos/mooring/v1: one RPC" in text
    assert "[Errors](../docs/errors.md)" in text


def test_the_search_lists_guides_first_and_neither_changelog_nor_tests(tmp_path: Path) -> None:
    locations = [
        "CHANGELOG.html#0",
        "docs/decisions/ties.html",
        "docs/start.html#a",
        "tests/laboratories/bench/index.html",
    ]
    paths = [["Contributing"], ["Decisions", "Speed"], ["Start"], ["Contributing"]]
    items = [{"location": place, "path": path} for place, path in zip(locations, paths, strict=True)]
    index = tmp_path / "search.json"
    index.write_text(json.dumps({"config": {}, "items": items}))
    search.arrange(index, ["Start", "Contributing", "Decisions"])
    assert [item["location"] for item in json.loads(index.read_text())["items"]] == [
        "docs/start.html#a",
        "docs/decisions/ties.html",
    ]


def test_the_pages_that_answer_questions_exist() -> None:
    answers = search.questions()
    assert len(answers) >= 12
    assert [page for page in answers.values() if not (pages.ROOT / page).is_file()] == []


def test_every_decision_is_in_a_group() -> None:
    grouped = [name for _, names in pages.groups(pages.ROOT / "docs/decisions/README.md") for name in names]
    there = [file.name for file in (pages.ROOT / "docs/decisions").glob("*.md") if file.name != "README.md"]
    assert sorted(grouped) == sorted(there)


def test_the_contract_has_all_its_services_rpcs_messages_and_enums(tmp_path: Path) -> None:
    text = "".join(page.read_text() for page in contract.write_pages(tmp_path))
    named = [
        *(message for file in CONTRACT for message in file.message_types_by_name),
        *(enum for file in CONTRACT for enum in file.enum_types_by_name),
    ]
    services = [service for file in CONTRACT for service in file.services_by_name.values()]
    named += [service.name for service in services]
    assert [name for name in named if f"\n## {name} {{" not in text] == []
    rpcs = [method.name for service in services for method in service.methods]
    assert rpcs
    assert [name for name in rpcs if f"\n### {name} {{" not in text] == []
