"""Columns as data frames, where pandas is installed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mooring.framework.errors import not_installed

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Sequence[Any]]
"""Columns of one length by name; ``polars.DataFrame(columns)`` takes them as they are."""


class Tabular(ABC):
    """Results that can be shown as a table."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The table."""

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as a data frame.

        Raises:
            FailedPreconditionError: pandas is not installed.
        """
        return frame_of(self.columns)


def frame_of(columns: Columns) -> pd.DataFrame:
    """Return the columns as a data frame of pandas.

    Raises:
        FailedPreconditionError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise not_installed("pandas", "lab") from error
    return pd.DataFrame(dict(columns))
