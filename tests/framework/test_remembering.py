"""Answers are remembered for the object in question, and for a limited time."""

from mooring.framework.remembering import ByIdentity


def test_the_same_object_is_worked_out_once_and_an_equal_one_by_itself() -> None:
    asked: list[str] = []

    def name(item: list[str]) -> str:
        asked.append(item[0])
        return item[0]

    remembered = ByIdentity(name, most=2)
    one, like_one, two = ["one"], ["one"], ["two"]
    assert [remembered(item) for item in (one, one, like_one)] == ["one"] * 3
    assert asked == ["one", "one"]
    assert [remembered(item) for item in (two, one, one)] == ["two", "one", "one"]
    assert asked == ["one", "one", "two", "one"], "the third made it forget the first two"


def test_an_object_that_took_the_place_of_another_has_its_own_answer() -> None:
    def count(item: list[None]) -> int:
        return len(item)

    remembered = ByIdentity(count, most=1000)
    assert [remembered([None] * length) for length in range(500)] == list(range(500))


def test_large_objects_are_not_kept_in_numbers() -> None:
    asked: list[int] = []

    def note(item: list[str]) -> None:
        asked.append(len(item))

    remembered = ByIdentity(note, most=1000, most_bytes=1000)
    small, large, huge = ["x" * 100] * 3, ["x" * 100] * 8, ["x" * 100] * 100
    for item in (small, small, large, large, small, huge, huge):
        remembered(item)
    assert asked == [3, 8, 3, 100], "the large one made it forget the small one"
