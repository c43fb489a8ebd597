"""A reserving batch whose answer is lost, repeated; `tests/cli/lost_answers.py` plays more of it."""

from pathlib import Path

from tests.cli.lost_answers import LostAnswers


def test_a_batch_whose_answer_is_lost_keeps_each_place_once_though_the_server_is_killed(
    tmp_path: Path,
) -> None:
    game = LostAnswers(tmp_path, seed=3, kills=0.1)
    try:
        for number in range(12):
            game.play(number)
    finally:
        game.close()
    assert game.lost > 12
    assert game.killed > 0
