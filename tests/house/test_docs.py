"""The documents: decisions are dated and listed, what pages name exists, words are those of the glossary."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.test_tree import FILES, ROOT

DOCS = sorted(ROOT.glob("docs/**/*.md"))
DECISIONS = [file for file in ROOT.glob("docs/decisions/*.md") if file.name != "README.md"]
INDEX = (ROOT / "docs/decisions/README.md").read_text()
ROOTS = ("", "server/mooring/", "adapters/")
MAX_DECISION_LINES = 60
MAX_LINE = 140
MAX_CHANGELOG_LINES = 120
GLOSSARY = (ROOT / "docs/glossary.md").read_text()

CODE = [
    file
    for file in FILES
    if file.relative_to(ROOT).parts[0] in ("server", "adapters", "clients", "protos", "deploy")
    and file.suffix in (".py", ".proto", ".md", ".yaml", ".go", ".js")
]

# Words for which the glossary has others, but for the name of a code of HTTP/2.
PRIVATE = (
    r"\b(?:(?!REFUSED_STREAM)refus\w+|kept evaluation|standing half|passing (?:answers|scores)|movements"
    r"|chosen node)\b"
)


def private_words(file: Path) -> list[str]:
    return re.findall(PRIVATE, file.read_text(), re.IGNORECASE)


def test_a_decision_is_a_dated_question_that_the_index_lists() -> None:
    question = r"# (.+\?)\n\n\*\d{4}-\d\d-\d\d\*\n\n"
    found = {file.name: re.match(question, file.read_text()) for file in DECISIONS}
    assert [
        name for name, said in found.items() if not said or f"- [{said.group(1)}]({name})\n" not in INDEX
    ] == []


def test_a_decision_fits_on_a_page_and_names_what_it_rejects() -> None:
    texts = {file.name: file.read_text() for file in DECISIONS}
    assert [name for name, text in texts.items() if text.count("\n") > MAX_DECISION_LINES] == []
    assert [name for name, text in texts.items() if "\n## Rejected\n" not in text] == []
    wide = [
        f"{name}: {line}"
        for name, text in texts.items()
        for line in text.splitlines()
        if len(line) > MAX_LINE
    ]
    assert wide == []


def test_the_changelog_of_a_release_fits_on_two_pages() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    long = [text.partition("\n")[0] for text in releases if text.count("\n") > MAX_CHANGELOG_LINES]
    assert long == []


def named_in(file: Path) -> Iterator[str]:
    """Yield the files that a page names in its text, but for placeholders and what commands write."""
    prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    for name in re.findall(r"`((?:[\w.]+/)+[\w]+\.(?:py|md|toml|txt|proto|binpb))`", prose):
        if "NAME" not in name and not name.startswith(".cache/"):
            yield name


def test_code_that_a_page_names_exists() -> None:
    assert [
        f"{file.relative_to(ROOT)}: {name}"
        for file in (*DOCS, ROOT / "CONTRIBUTING.md")
        for name in named_in(file)
        if not any((ROOT / root / name).exists() for root in ROOTS)
    ] == []


def test_a_page_uses_the_words_of_the_glossary() -> None:
    assert {file.name: words for file in DOCS if (words := private_words(file))} == {}


def test_code_and_its_texts_say_rejected_and_selected() -> None:
    assert len(CODE) > 500
    assert {str(file.relative_to(ROOT)): words for file in CODE if (words := private_words(file))} == {}


def test_the_glossary_has_each_term_once_with_a_meaning() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", GLOSSARY, re.MULTILINE)
    terms = [term for term, _ in rows if term not in ("term", "---")]
    assert len(terms) == len(set(terms)) >= 30
