"""Values by number: equal keys share a number while it has users."""

from stretto.state.rows.shared_values import SharedValues


def three() -> SharedValues[str, int]:
    shared = SharedValues[str, int](0)
    for key, value in (("a", 1), ("b", 2), ("c", 3)):
        shared.use(shared.add(key, value))
    return shared


def test_a_key_has_the_number_under_which_it_was_added() -> None:
    assert [three().find(key) for key in "abcd"] == [0, 1, 2, -1]


def test_a_value_stays_until_its_last_user_releases_it() -> None:
    shared = three()
    shared.use(1)
    assert [shared.release(1), shared.release(1)] == [False, True]


def test_a_free_number_has_no_value_and_no_key() -> None:
    shared = three()
    shared.release(1)
    assert (shared.values, shared.find("b")) == ([1, 0, 3], -1)


def test_a_new_key_gets_a_free_number_first() -> None:
    shared = three()
    shared.release(1)
    assert (shared.add("d", 4), shared.add("e", 5)) == (1, 3)
    assert shared.values == [1, 4, 3, 5]
