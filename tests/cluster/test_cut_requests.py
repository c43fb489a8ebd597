"""A3, bind_request_lost: the connection breaks after any number of bytes of the request."""

from __future__ import annotations

from mooring.framework.handle import BindOutcome
from mooring.testing.builders import make_pod, pod_manifest
from tests.cluster.cutting import proxied
from tests.fake_api_server import FakeApiServer

STEP = 7
"""Bytes between two cuts; the soak makes each cut."""


def test_bind_request_lost() -> None:
    with FakeApiServer() as fake, proxied(fake) as (binder, proxy):
        fake.add(pod_manifest("whole", metadata={"uid": "whole"}))
        assert binder.bind(make_pod("whole", metadata={"uid": "whole"}), "n") is BindOutcome.BOUND
        cuts = range(0, proxy.request_bytes, STEP)
        assert len(cuts) > 25
        for cut in cuts:
            name = f"p{cut}"
            fake.add(pod_manifest(name, metadata={"uid": name}))
            proxy.cut_at = cut
            assert binder.bind(make_pod(name, metadata={"uid": name}), "n") is BindOutcome.BOUND, cut
            assert proxy.cut_at is None
        accepted = [uid for uid, _, _ in fake.history.accepted_bindings()]
        assert len(accepted) == len(set(accepted)) == len(cuts) + 1
