"""The documents: decisions are dated and listed, what pages name exists, words are those of the glossary."""

import re
from pathlib import Path

import pytest

from tests.house.test_tree import FILES, ROOT

DOCS = sorted(ROOT.glob("docs/**/*.md"))
DECISIONS = [file for file in ROOT.glob("docs/decisions/*.md") if file.name != "README.md"]
INDEX = (ROOT / "docs/decisions/README.md").read_text()
ROOTS = ("", "server/mooring/", "adapters/")
MAX_DECISION_LINES = 60
MAX_CHANGELOG_LINES = 120
GLOSSARY = (ROOT / "docs/glossary.md").read_text()

CODE = [
    file
    for file in FILES
    if file.relative_to(ROOT).parts[0] in ("server", "adapters", "protos", "deploy")
    and file.suffix in (".py", ".proto", ".md", ".yaml", ".go", ".js")
]

# Words for which the glossary has others.
PRIVATE = r"\b(?:refus\w+|kept evaluation|standing half|passing (?:answers|scores)|movements|chosen node)\b"


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_is_a_dated_question_that_the_index_lists(file: Path) -> None:
    found = re.match(r"# (.+\?)\n\n\*\d{4}-\d\d-\d\d\*\n\n", file.read_text())
    assert found
    assert f"- [{found.group(1)}]({file.name})\n" in INDEX


def test_no_decision_is_longer_than_a_page() -> None:
    lengths = {file.name: len(file.read_text().splitlines()) for file in DECISIONS}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_DECISION_LINES} == {}


def test_the_changelog_of_a_release_fits_on_two_pages() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    long = [text.partition("\n")[0] for text in releases if text.count("\n") > MAX_CHANGELOG_LINES]
    assert long == []


@pytest.mark.parametrize(
    "file", [*DOCS, ROOT / "CONTRIBUTING.md"], ids=lambda file: str(file.relative_to(ROOT))
)
def test_code_that_a_page_names_exists(file: Path) -> None:
    prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    named = re.findall(r"`((?:[\w.]+/)+[\w]+\.(?:py|md|toml|txt|proto|binpb))`", prose)
    missing = [name for name in named if not any((ROOT / root / name).exists() for root in ROOTS)]
    assert [name for name in missing if "NAME" not in name and not name.startswith(".cache/")] == []


@pytest.mark.parametrize("file", DOCS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_page_uses_the_words_of_the_glossary(file: Path) -> None:
    assert re.findall(PRIVATE, file.read_text(), re.IGNORECASE) == []


def test_code_and_its_texts_say_rejected_and_selected() -> None:
    found = {
        str(file.relative_to(ROOT)): re.findall(PRIVATE, file.read_text(), re.IGNORECASE) for file in CODE
    }
    assert len(found) > 500
    assert {name: words for name, words in found.items() if words} == {}


def test_the_glossary_has_each_term_once_with_a_meaning() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", GLOSSARY, re.MULTILINE)
    terms = [term for term, _ in rows if term not in ("term", "---")]
    assert len(terms) == len(set(terms)) >= 30
