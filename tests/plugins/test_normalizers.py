import numpy as np
import pytest

from mooring.framework import Normalizer

MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("normalizer", "scores", "normalized"),
    [
        pytest.param(Normalizer.BY_MAX, [0, 1, 3], [0, 33, 100], id="by max rounds down"),
        pytest.param(Normalizer.BY_MAX, [0, 0], [0, 0], id="by max, all zero"),
        pytest.param(Normalizer.BY_MAX, [MAX, MAX // 2, 0], [100, 49, 0], id="by max, largest numbers"),
        pytest.param(
            Normalizer.BY_MAX, [-5, -1], [-5, -1], id="by max leaves what is below zero to the range check"
        ),
        pytest.param(Normalizer.BY_MAX_REVERSED, [0, 1, 3], [100, 67, 0], id="reversed"),
        pytest.param(Normalizer.BY_MAX_REVERSED, [0, 0], [100, 100], id="reversed, all zero"),
        pytest.param(Normalizer.BY_MIN_MAX, [-10, 0, 10], [0, 50, 100], id="by min and max"),
        pytest.param(Normalizer.BY_MIN_MAX, [7, 7], [0, 0], id="by min and max, all equal"),
        pytest.param(Normalizer.BY_MAX, [], [], id="nothing"),
    ],
)
def test_normalizers(normalizer: Normalizer, scores: list[int], normalized: list[int]) -> None:
    raw = np.array(scores, np.int64)
    assert normalizer.apply(raw).tolist() == normalized
    assert raw.tolist() == scores
