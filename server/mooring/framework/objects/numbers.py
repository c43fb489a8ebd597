"""Integers as wide as the API's, so that decoding rejects what Go would reject."""

from typing import Annotated

from msgspec import Meta

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A number that the API keeps in 32 bits."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that the API keeps in 64 bits."""
