"""The tools of the frame: search, help, the theme, and what is copied."""

import json
import re
import shlex
import subprocess

import pytest
from playwright.sync_api import Page, expect

from tests.cli.commands import BIN, environment

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("text", "hit", "route"),
    [
        pytest.param("b2", "worker-b2", "#/nodes/worker-b2", id="a node"),
        pytest.param("picky", "Pod default/picky", "#/pods/default/picky", id="a pod"),
        pytest.param(
            "default/big", "ReplicaSet default/big", "#/owners/default/ReplicaSet/big", id="an owner"
        ),
        pytest.param("resourcesfit", "NodeResourcesFit", "#/plugins/NodeResourcesFit", id="a plugin"),
        pytest.param("prof", "Profiles", "#/profiles", id="a view"),
    ],
)
def test_search_finds(page: Page, text: str, hit: str, route: str) -> None:
    page.goto("#/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill(text)
    page.get_by_role("option", name=hit).first.click()
    expect(page).to_have_url(re.compile(f"{re.escape(route)}$"))


def test_search_by_keys_alone(page: Page) -> None:
    page.goto("#/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type("worker-")
    expect(page.get_by_role("option", name="Node worker-a2")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="worker-a2")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.get_by_text("Nothing has such a name.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Search")).to_have_count(0)


def test_keys_are_letters_where_people_type(page: Page) -> None:
    page.goto("#/pods")
    page.get_by_label("Filter by namespace, name or labels").press_sequentially("default/?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_help(page: Page) -> None:
    page.goto("#/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("search pods, nodes")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_theme_is_chosen_and_remembered(page: Page) -> None:
    ground = "() => getComputedStyle(document.querySelector('mooring-page')).backgroundColor"
    page.emulate_media(color_scheme="light")
    page.goto("#/")
    light = page.evaluate(ground)
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    page.get_by_label("Theme").select_option("system")
    assert page.evaluate(ground) == light


def copied(page: Page, name: str) -> str:
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_role("group", name="Copy as").get_by_role("button", name=name).first.click()
    expect(page.get_by_text(f"{name} copied")).to_have_count(1)
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.parametrize(
    ("route", "shown"),
    [
        pytest.param("", "Insufficient cpu", id="overview"),
        pytest.param("pods/default/picky", "didn't match Pod's node affinity/selector", id="a pod"),
        pytest.param("decisions?result=unschedulable", "default/big-0", id="decisions"),
        pytest.param("owners/default/ReplicaSet/big", "Insufficient cpu", id="an owner"),
    ],
)
def test_the_copied_command_gives_what_the_view_shows(page: Page, route: str, shown: str) -> None:
    page.goto(f"#/{route}")
    expect(page.get_by_text(re.compile(re.escape(shown))).first).to_be_visible()
    program, *words = shlex.split(copied(page, "CLI"))
    assert program == "mooring"
    done = subprocess.run(
        [BIN / program, *words], capture_output=True, text=True, check=False, env=environment(), timeout=120
    )
    assert shown in done.stdout, done.stderr


def test_the_copied_json_is_the_answer_and_the_call_names_the_server(page: Page) -> None:
    page.goto("#/pods?name=picky")
    expect(page.get_by_role("link", name="default/picky")).to_be_visible()
    answer = json.loads(copied(page, "JSON"))
    assert [each["pod"]["name"] for each in answer["pods"]] == ["picky"]
    program, *words = shlex.split(copied(page, "gRPC"))
    assert program == "grpcurl"
    assert json.loads(words[words.index("-d") + 1]) == {"namePart": "picky"}
    assert re.fullmatch(r"127\.0\.0\.1:\d+ mooring\.v1\.ClusterService/ListPods", " ".join(words[-2:]))
