"""Questions of an extender with keys in every case, and the results of Go's JSON decoder.

python -m tests.laboratories.conformance.casing  # needs Go; writes two files of testdata
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST, PROGRAMS, SOURCE
from tests.laboratories.conformance.recordings import recording, write

TYPES = Path("adapters/mooring_extender/go_types.json")
COUNT = 60
LETTERS = {"s": "\u017f", "k": "\u212a"}
"""Letters that Go takes for those of ASCII."""

SELECTOR = {
    "matchLabels": {"App": "web", "tier": "x"},
    "matchExpressions": [{"key": "Zone", "operator": "Exists"}],
}
TERM = {"labelSelector": SELECTOR, "topologyKey": "Rack", "namespaces": ["a"], "matchLabelKeys": ["Version"]}
POD = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"App": "web", "spec": "data", "NodeName": "data"},
        "annotations": {"Name": "x"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-2", "controller": True}
        ],
    },
    "spec": {
        "schedulerName": "default-scheduler",
        "priority": 7,
        "nodeSelector": {"Disk": "ssd", "zone": "a"},
        "containers": [
            {
                "name": "main",
                "image": "registry.example/main:1",
                "resources": {
                    "requests": {"cpu": "64", "Example.com/GPU": "2"},
                    "limits": {"example.com/gpu": "2"},
                },
                "ports": [{"hostPort": 80, "containerPort": 80, "protocol": "TCP", "hostIP": "10.0.0.1"}],
            }
        ],
        "initContainers": [
            {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
        ],
        "tolerations": [{"key": "Dedicated", "operator": "Equal", "value": "A", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                    ]
                }
            },
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "podAffinityTerm": TERM}]
            },
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "Zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": SELECTOR,
            }
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "Data"}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "GPU"}],
        "schedulingGates": [{"name": "example.com/gate"}],
        "schedulingGroup": {"podGroupName": "Ring"},
        "overhead": {"cpu": "1"},
        "runtimeClassName": "kata",
    },
    "status": {"nominatedNodeName": "n", "conditions": [{"type": "PodScheduled", "status": "False"}]},
}
NODE = {
    "metadata": {"name": "n", "labels": {"Zone": "A", "metadata": "data"}},
    "spec": {"unschedulable": True, "taints": [{"key": "K", "value": "v", "effect": "NoExecute"}]},
    "status": {
        "allocatable": {"cpu": "8", "Example.com/GPU": "4"},
        "capacity": {"cpu": "8"},
        "images": [{"names": ["registry.example/main:1"], "sizeBytes": 5}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.37.2"},
    },
}
QUESTION = {"Pod": POD, "Nodes": {"metadata": {}, "items": [NODE]}, "NodeNames": None}


def questions() -> Iterator[str]:
    """Ways to write QUESTION, more of its keys in another case each time; labels, which are data, as well."""
    letters = random.Random(7)
    for number in range(COUNT):
        yield json.dumps(_respelt(QUESTION, number / COUNT, letters), separators=(",", ":"))


def _respelt(value: Any, share: float, letters: random.Random) -> Any:
    if isinstance(value, list):
        return [_respelt(item, share, letters) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _other(key, letters) if letters.random() < share else key: _respelt(item, share, letters)
        for key, item in value.items()
    }


def _other(key: str, letters: random.Random) -> str:
    return "".join(
        letters.choice([letter, letter.upper(), letter.lower(), LETTERS.get(letter, letter)])
        for letter in key
    )


def build() -> Path:
    """Compile the Go program around the types of extender/v1."""
    program = (PROGRAMS / f"casing-{NEWEST}").absolute()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-o", program, "./casing"], cwd=SOURCE, check=True)
    return program


def decoded(program: Path) -> list[Manifest]:
    """Return Go's reading of each of the questions, written by Go."""
    said = subprocess.run([program], input="\n".join(questions()), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


def main() -> int:
    program = build()
    TYPES.write_bytes(subprocess.run([program, "types"], capture_output=True, check=True).stdout)
    pairs = zip(questions(), decoded(program), strict=True)
    lines = [json.dumps({"question": asked, "decoded": answer}) for asked, answer in pairs]
    return write(lines, recording("casing", NEWEST), "casings")


if __name__ == "__main__":
    sys.exit(main())
