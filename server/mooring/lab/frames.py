"""Columns as data frames, where pandas is installed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
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


TIME = "datetime64[ns, UTC]"
"""The dtype of moments."""


@dataclass(frozen=True, eq=False)
class AnswerTable(Tabular):
    """The answer to a question.

    Attributes:
        summary: The answer in a line.
        dtypes: The dtype of each column in the frame, whatever there is in it.
        table: Its columns.
    """

    summary: str
    dtypes: Mapping[str, str]
    table: Columns

    @classmethod
    def of(cls, summary: str, dtypes: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> AnswerTable:
        """Return the table of some rows, whose values are in the order of ``dtypes``."""
        return cls(summary, dtypes, {name: [row[at] for row in rows] for at, name in enumerate(dtypes)})

    @property
    def columns(self) -> Columns:
        """The answer's columns."""
        return self.table

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as a data frame.

        Raises:
            FailedPreconditionError: pandas is not installed.
        """
        return frame_of(self.columns).astype(dict(self.dtypes))

    def __repr__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary)}</p>{self.frame.to_html(index=False)}"


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
