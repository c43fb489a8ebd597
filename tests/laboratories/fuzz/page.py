"""The page's gateway: a method's name, a line feed, and a body that is JSON or nearly that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random

from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.web.gateway import METHODS, _check_commit, read_request
from tests.laboratories.fuzz.judging import Judge, Target, check_text
from tests.laboratories.fuzz.mutating import changed_json

BODIES: dict[str, tuple[bytes, ...]] = {
    "mooring.v1.SchedulingService/Schedule": (
        b'{"templates":[{"pod":{"reference":{"namespace":"default","name":"web-3"}}}],"commitMode":"COMMIT_MODE_DRY_RUN"}',
        b'{"templates":[{"pod":{"object":{"json":"e30="}}}],"session":"s","commitMode":2,"seed":"7"}',
        b'{"commitMode":77}',
    ),
    "mooring.v1.SchedulingService/Explain": (
        b'{"pod":{"reference":{"uid":"u"}},"nodes":{"names":{"names":["a","b"]}}}',
    ),
    "mooring.v1.DecisionService/ListDecisions": (
        b'{"filter":{"kinds":["DECISION_KIND_DRY_RUN"],"results":[1],"maxMargin":"5"},"limit":10}',
    ),
    "mooring.v1.SimulationService/ChangeSession": (
        b'{"session":"s","changes":[{"put":{"kind":"Node","objects":[{"json":"e30="}]}},{"remove":{"kind":"Pod"}}]}',
    ),
    "mooring.v1.SimulationService/OpenSession": (b'{"featureGates":{"A":true},"leaseDuration":"1.5s"}',),
}


@cache
def seeds() -> tuple[bytes, ...]:
    """Return each method with nothing, and some with bodies of the page."""
    empty = [f"{name}\n{{}}".encode() for name in METHODS]
    return (*empty, *(name.encode() + b"\n" + body for name, bodies in BODIES.items() for body in bodies))


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The body changes; the method seldom does."""
    head, _, body = data.partition(b"\n")
    bodies = [other.partition(b"\n")[2] for other in others]
    return (
        (dice.choice(others).partition(b"\n")[0] if dice.random() < 0.1 else head)
        + b"\n"
        + changed_json(dice, body, bodies)
    )


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield the gateway's handling of a body before it calls a process."""

    def judge(data: bytes) -> bool:
        head, _, body = data.partition(b"\n")
        method = METHODS.get(head.decode(errors="replace"))
        if method is None:
            return False
        try:
            request = read_request(method, body)
            if method is METHODS["mooring.v1.SchedulingService/Schedule"]:
                _check_commit(request)
        except InvalidArgumentError as error:
            for violation in error.violations[:1]:
                check_text(violation.message[:2048])
            return False
        except MooringError:
            return False
        request.SerializeToString()
        return True

    yield judge


TARGET = Target("page", "the page's JSON", seeds, change, judging)
