"""Plain English: no text of the repository has a fault of the eight kinds."""

import pytest

from tools import plain_english
from tools.plain_english import Paragraph, faults_in


def test_no_text_has_a_fault() -> None:
    assert list(map(str, plain_english.faults())) == []


def kinds_of(text: str) -> list[str]:
    paragraph = Paragraph("room", plain_english.ROOT / "file.md", 1, tuple(text.splitlines()))
    return [fault.kind for fault in faults_in(paragraph)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("headless", "The pods for whom a node was found", id="whom"),
        pytest.param("headless", "What a queue holds", id="what as the subject"),
        pytest.param("fronted of", "Of two pods the older one goes first.", id="sentence begins with of"),
        pytest.param("fronted of", "nodes, of which the first is selected", id="of which"),
        pytest.param("told, said, asked", "The plugin is asked for each node.", id="asked"),
        pytest.param("told, said, asked", "The error is told in the log.", id="told"),
        pytest.param("dummy it", "it is known which nodes are full", id="it is known"),
        pytest.param("connective", "The score is computed\nanew.", id="anew, in the second line"),
        pytest.param("connective", "Return the node, or None where there is none.", id="where for if"),
        pytest.param('negation by "no"', "This object is no pod.", id="is no pod"),
        pytest.param("comparison with a past", "It is not read any more.", id="any more"),
        pytest.param(plain_english.LONG, f"{'word ' * 36}.", id="long sentence"),
    ],
)
def test_a_fault_is_found(kind: str, text: str) -> None:
    assert kinds_of(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "Return the nodes that the plugin rejected, most of which are full.", id="most of which"
        ),
        pytest.param("The caller selects among three nodes where pods wait.", id="where for a place"),
        pytest.param(
            "There is no pod without a node, and it is no longer pending.", id="there is no, no longer"
        ),
        pytest.param("What is a hit?", id="a question"),
        pytest.param("Of a node: no plugin rejected it.", id="glossary"),
        pytest.param(f"{'word ' * 30}. {'word ' * 30}.", id="two sentences"),
    ],
)
def test_right_uses_are_allowed(text: str) -> None:
    assert kinds_of(text) == []


def test_a_fault_names_its_line() -> None:
    paragraph = Paragraph(
        "room", plain_english.ROOT / "file.md", 7, ("First line,", "of which this is the second.")
    )
    assert list(map(str, faults_in(paragraph))) == [
        "file.md:8: fronted of: First line, of which this is the second."
    ]
