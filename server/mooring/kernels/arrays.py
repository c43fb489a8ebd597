"""The types of arrays, and the numbers in them with a meaning of their own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float64s = npt.NDArray[np.float64]

REJECTED = -1
"""The total of a node that is rejected."""

UNKNOWN = -2
"""In a column by resource state: the score, or the following state, that is not known yet."""

ABSENT = 0
"""The id of "there is no such label"."""
