"""Configurations that divide the work: what kube-scheduler decides, and what mooring does."""

from typing import Any

from .processes import HTTP_TIMEOUT


def mooring_node_affinity() -> dict[str, Any]:
    """mooring filters and scores by NodeAffinity alone."""
    plugins = [{"name": "PrioritySort"}, {"name": "NodeAffinity", "weight": 1}, {"name": "DefaultBinder"}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": plugins}},
            }
        ],
    }


def kube_scheduler_without_node_affinity(*extenders: dict[str, Any]) -> dict[str, Any]:
    """kube-scheduler knows nothing of node affinity and scores nothing: both are left to `extenders`."""
    return {
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "NodeAffinity"}]},
                    "score": {"disabled": [{"name": "*"}]},
                },
            }
        ],
        "extenders": list(extenders),
    }


def extender(
    url: str, *, node_cache_capable: bool = True, ignorable: bool = False, bind: bool = False
) -> dict[str, Any]:
    """Return the stanza for mooring's adapter at `url`."""
    stanza: dict[str, Any] = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "httpTimeout": HTTP_TIMEOUT,
        "nodeCacheCapable": node_cache_capable,
        "ignorable": ignorable,
    }
    if bind:
        stanza["bindVerb"] = "bind"
    return stanza
