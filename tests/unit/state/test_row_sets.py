"""Memory-efficient sets of rows behave like sets."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.state.rows.row_sets import RowSet

_ROWS = st.sets(st.integers(0, 60), max_size=40)
_CHANGES = st.lists(st.tuples(st.booleans(), _ROWS), max_size=12)


@given(_CHANGES)
def test_whatever_comes_and_goes_the_rows_are_those_of_a_plain_set(
    changes: list[tuple[bool, set[int]]],
) -> None:
    rows, plain = RowSet(), set[int]()
    for joins, some in changes:
        (rows.add_all if joins else rows.remove_all)(some)
        plain = plain | some if joins else plain - some
        assert sorted(rows) == sorted(plain)
        assert len(rows) == len(plain)
        assert all((row in rows) == (row in plain) for row in range(-1, 62))


def test_rows_that_are_given_stay_the_givers_own() -> None:
    rows, given_rows = RowSet(), {1, 2}
    rows.add_all(given_rows)
    rows.add_all({3})
    rows.remove_all({1})
    assert given_rows == {1, 2}


def test_nothing_but_a_row_is_in_it() -> None:
    rows = RowSet()
    rows.add_all(set(range(100)))
    assert "7" not in rows
    assert 7 in rows
