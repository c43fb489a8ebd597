"""The proxy that the environment names, by Go's rules."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(url: str, environment: Mapping[str, str]) -> str:
    """Return the URL of the proxy for ``url``; "" = none, as for this host and for hosts in NO_PROXY.

    Mirrors ``NewProxierWithNoProxyCIDR`` in ``k8s.io/apimachinery/pkg/util/net/http.go``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = {name.lower(): value for name, value in environment.items() if name.lower().endswith("_proxy")}
    proxy = named.get(f"{parts.scheme}_proxy", "")
    if not proxy or host == "localhost" or _bypassed(host, named.get("no_proxy", "")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypassed(host: str, rules: str) -> bool:
    """Return whether NO_PROXY names the host: as it is, by the end of its name, or by its network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None and address.is_loopback:
        return True
    for rule in (rule.strip().lower() for rule in rules.split(",")):
        if not rule:
            continue
        if rule in ("*", host) or host.endswith(f".{rule.lstrip('.')}"):
            return True
        try:
            if address is not None and address in ipaddress.ip_network(rule, strict=False):
                return True
        except ValueError:
            continue
    return False
