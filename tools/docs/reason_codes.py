"""Writes docs/reason-codes.md: the reason codes with kube-scheduler's texts, from the code and the contract.

With ``--check`` it writes nothing, and its exit code is 1 if the page is stale.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mooring.framework.reason_codes import TEXTS, ReasonCode, codes_by_plugin

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reason-codes.md"
CONTRACT = ROOT / "protos/mooring/v1/findings.proto"

HEAD = """# Reason codes

A finding says why a plugin rejects a pod or a node.
It has a code, a subject, amounts, holders, and the smallest change on either side.
`mooring explain`, its JSON (`findings`) and `ExplainResponse.findings` have them.

A code keeps its name, its number and its meaning for as long as the contract is `mooring.v1`.
New codes come at the end, and raise `contract_revision`.
Your own plugins have codes of this list, or words in `custom_code`.

A code *of the pod* holds whatever the node: read these first.
Codes without a text are finer causes behind another text of the plugin."""

_COLUMNS = "| code | number | subject | meaning | kube-scheduler |"


def page() -> str:
    """Return the page as it should be."""
    meanings = dict(re.findall(r"// (.*)\n  REASON_CODE_(\w+) = ", CONTRACT.read_text()))
    meanings = {name: meaning for meaning, name in meanings.items()}
    parts = [HEAD]
    for plugin, codes in codes_by_plugin():
        parts += [f"\n## {plugin or 'Several plugins'}\n", _COLUMNS, "|---|---|---|---|---|"]
        parts += [_row(code, meanings[code.name]) for code in codes]
    return "\n".join(parts) + "\n"


def _row(code: ReasonCode, meaning: str) -> str:
    of_pod = ", of the pod" if code.of_pod else ""
    text = f"`{TEXTS[code]}`" if code in TEXTS else ""
    return f"| `{code.label}` | {code.number} | {code.kind.label}{of_pod} | {meaning} | {text} |"


def main() -> int:
    """Write the page, or check it."""
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
