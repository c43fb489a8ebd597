"""No binding takes effect under the next leader: it could want the same place, and see nothing of it."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest

from mooring.app.election import binding_seconds, end_election
from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.binding import KubernetesBinder
from mooring.config.types import LeaderElectionConfiguration
from mooring.framework import CycleState
from mooring.runtime.commit.extension_points import Commit
from mooring.runtime.commit.reservations import Reservation, Stage
from mooring.testing import make_pod
from tests.runtime.committing import committing

from .electing import FakeStore, election
from .fakes import FakeClock


@pytest.mark.parametrize(
    ("stage", "released"),
    [(None, True), (Stage.RESERVED, True), (Stage.BINDING, False), (Stage.UNKNOWN, False)],
    ids=str,
)
def test_a_leader_that_ends_releases_the_lease_only_if_no_binding_is_open(
    stage: Stage | None, released: bool
) -> None:
    clock, store = FakeClock(), FakeStore()
    leader, other = election(store, "leader", clock), election(store, "other", clock)
    leader.try_to_lead()
    with committing() as world:
        if stage is not None:
            commit = Commit(world.engine.profile(), CycleState(), make_pod("p"), "a")
            world.cycle.reservations.add_reservation(Reservation(commit, stage))
        end_election(leader, world.cycle)
    assert other.try_to_lead() == released
    clock.advance(16)
    assert other.try_to_lead()


@pytest.mark.parametrize(("lease", "renew", "seconds"), [(15, 10, 5.0), (3, 2, 1.0), (60, 40, 10.0)])
def test_the_api_server_gives_up_a_binding_before_another_replica_may_lead(
    lease: int, renew: int, seconds: float
) -> None:
    class Server:
        options = ClientOptions(timeout_seconds=10.0)

    asked = LeaderElectionConfiguration(
        leader_elect=True, lease_duration=timedelta(seconds=lease), renew_deadline=timedelta(seconds=renew)
    )
    binder = KubernetesBinder(cast("ApiServer", Server()), longest_seconds=binding_seconds(asked))
    assert binder._request(make_pod("p"), "a").query == {"timeout": f"{seconds:g}s"}
    assert renew + seconds <= lease


def test_without_an_election_a_binding_has_the_time_of_its_client() -> None:
    class Server:
        options = ClientOptions(timeout_seconds=10.0)

    asked = LeaderElectionConfiguration(leader_elect=False)
    binder = KubernetesBinder(cast("ApiServer", Server()), longest_seconds=binding_seconds(asked))
    assert binder._request(make_pod("p"), "a").query == {"timeout": "10s"}
