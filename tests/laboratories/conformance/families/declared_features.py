"""NodeDeclaredFeatures: pods that need a feature of the kubelet, and nodes that declare some."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

FEATURES = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "RestartAllContainersOnContainerExits",
    "UnheardOf",
    "UserNamespacesHostNetworkSupport",
]


def declared_features(draft: Draft) -> None:
    if draft.version == "1.35":
        draft.gates = draft.gates | {"NodeDeclaredFeatures": True}
    for node in draft.nodes:
        if draft.chance(0.8):
            node["status"]["declaredFeatures"] = sorted(draft.some(FEATURES, 0, len(FEATURES)))
    for pod in draft.pods():
        if draft.chance(0.6):
            _restart_all(draft, pod)
        if draft.chance(0.5):
            pod["spec"]["hostUsers"] = draft.chance(0.3)
        if draft.chance(0.5):
            _use_host_network(draft, pod)


def _restart_all(draft: Draft, pod: Manifest) -> None:
    if draft.chance(0.3):
        pod["spec"]["initContainers"] = [{"name": "setup", "image": "registry.example/setup:1"}]
    container = draft.rng.choice(draft.containers(pod))
    container["restartPolicy"] = "Never"
    action = draft.rng.choice(["Restart", "RestartAllContainers", "RestartAllContainers"])
    container["restartPolicyRules"] = [{"action": action, "exitCodes": {"operator": "In", "values": [42]}}]


def _use_host_network(draft: Draft, pod: Manifest) -> None:
    pod["spec"]["hostNetwork"] = True
    for container in draft.containers(pod):
        for port in container.get("ports", []):
            port["hostPort"] = port["containerPort"]
