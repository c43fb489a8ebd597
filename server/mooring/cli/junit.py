"""Reports in JUnit's XML, which CI systems show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One test of a report.

    Attributes:
        faults: A sentence for each fault; none = it passed.
        skipped: Why it does not count; "" = it counts.
    """

    group: str
    name: str
    rule: str
    faults: Sequence[str] = ()
    skipped: str = ""


def junit(name: str, cases: Sequence[JunitCase]) -> str:
    """Return the report of a suite of this name."""
    failed = sum(bool(case.faults) for case in cases)
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)), failures=str(failed))
    for case in cases:
        shown = ET.SubElement(suite, "testcase", classname=case.group, name=case.name)
        if case.faults:
            ET.SubElement(shown, "failure", message=case.rule).text = "\n".join(case.faults)
        elif case.skipped:
            ET.SubElement(shown, "skipped", message=case.skipped)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)
