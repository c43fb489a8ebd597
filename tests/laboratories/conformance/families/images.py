"""ImageLocality: names with and without tag, digests, one image under several names, image volumes."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft

MIB = 1 << 20
NAMES = [
    "registry.example/web:1.0",
    "registry.example/web:latest",
    "registry.example/web",
    "registry.example:5000/db",
    "registry.example:5000/db:latest",
    "redis",
    "redis:latest",
    "docker.io/library/redis:latest",
    "model@sha256:" + "ab" * 32,
    "registry.example/model:v2",
]
SIZES = [1, 5 * MIB, 23 * MIB, 24 * MIB + 1, 77_777_777, 400 * MIB, 1000 * MIB, 3 << 30]


def image_locality(draft: Draft) -> None:
    sizes = {name: draft.rng.choice(SIZES) for name in NAMES}
    for node in draft.nodes:
        node["status"]["images"] = [
            {
                "names": names,
                # Two nodes rarely have different sizes for one name.
                "sizeBytes": sizes[names[0]] if draft.chance(0.9) else draft.rng.choice(SIZES),
            }
            for names in (draft.some(NAMES, 1, 3) for _ in range(draft.rng.randint(0, 5)))
        ]
    spec = draft.pod["spec"]
    if draft.chance(0.3):
        spec["initContainers"] = [{"name": f"init{i}", "image": ""} for i in range(draft.rng.randint(1, 2))]
        if draft.chance(0.5):
            spec["initContainers"][0]["restartPolicy"] = "Always"
    for container in draft.containers(draft.pod):
        container["image"] = draft.rng.choice(NAMES)
    if draft.chance(0.25):
        spec["volumes"] = [
            {
                "name": f"data{i}",
                "image": {"reference": draft.rng.choice(NAMES), "pullPolicy": "Always"},
            }
            for i in range(draft.rng.randint(1, 2))
        ]
