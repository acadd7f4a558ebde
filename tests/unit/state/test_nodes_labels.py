import numpy as np
import pytest

from stretto.api.wire.selectors import Operator, SelectorRule, integer
from stretto.state.nodes import labels as module
from stretto.state.nodes.labels import LabelColumns
from tests.support.small_cluster import slots_of

FLEET = (
    {"zone": "a", "gen": "7"},
    {"zone": "b", "gen": "12"},
    {"gen": "old"},
    {},
    {"zone": "a", "gen": "-3"},
    {"zone": "", "gen": "9223372036854775807"},
    {"gen": "-9223372036854775808"},
    {"gen": "9223372036854775808", "zone": "c"},
)
"""The last three are the ends of 64 bits and one beyond."""


def labels_of(*fleet: dict[str, str]) -> LabelColumns:
    table = LabelColumns()
    table.grow(len(fleet))
    for slot, labels in enumerate(fleet):
        table.put(slot, labels)
    return table


RULES = [
    SelectorRule("zone", Operator.IN, ("a",)),
    SelectorRule("zone", Operator.IN, ("a", "b", "nowhere")),
    SelectorRule("zone", Operator.IN, tuple("abcdefghijkl")),
    SelectorRule("zone", Operator.NOT_IN, ("a",)),
    SelectorRule("zone", Operator.IN, ("",)),
    SelectorRule("zone", Operator.EXISTS),
    SelectorRule("zone", Operator.DOES_NOT_EXIST),
    SelectorRule("gen", Operator.GT, ("7",)),
    SelectorRule("gen", Operator.GT, ("-9223372036854775808",)),
    SelectorRule("gen", Operator.LT, ("12",)),
    SelectorRule("gen", Operator.LT, ("9223372036854775807",)),
    SelectorRule("unheard", Operator.EXISTS),
    SelectorRule("unheard", Operator.NOT_IN, ("a",)),
    SelectorRule("unheard", Operator.GT, ("1",)),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_holds_where_it_holds_for_the_plain_labels(rule: SelectorRule) -> None:
    table = labels_of(*FLEET)
    answers = table.holds(rule, np.arange(len(FLEET)))
    assert answers.tolist() == [rule.holds(labels) for labels in FLEET]


def test_only_the_requested_slots_are_answered_in_their_order() -> None:
    table = labels_of(*FLEET)
    assert table.equal("zone", "a", slots_of(4, 1, 0)).tolist() == [True, False, True]


def test_a_value_that_no_node_has_equals_nothing_not_even_absence() -> None:
    table = labels_of({}, {"zone": "a"})
    assert not table.equal("zone", "never", slots_of(0, 1)).any()


def test_put_returns_whether_a_value_changed() -> None:
    table = labels_of({"a": "1", "b": "2"})
    assert not table.put(0, {"b": "2", "a": "1"})
    assert table.put(0, {"a": "1"})


def test_a_column_that_was_read_before_follows_a_change() -> None:
    table = labels_of({"zone": "a"}, {"zone": "b"})
    table.column("zone")
    table.put(0, {"zone": "b"})
    table.remove(1)
    assert table.equal("zone", "b", slots_of(0, 1)).tolist() == [True, False]


def test_a_key_that_is_unknown_at_first_is_found_later() -> None:
    table = labels_of({}, {})
    assert table.column("late").tolist() == [0, 0]
    table.put(1, {"late": "x"})
    assert table.equal("late", "x", slots_of(0, 1)).tolist() == [False, True]


def test_a_column_grows_with_the_slots() -> None:
    table = labels_of({"zone": "a"})
    table.column("zone")
    table.grow(3)
    table.put(2, {"zone": "a"})
    assert table.equal("zone", "a", np.arange(3)).tolist() == [True, False, True]


def test_labels_come_back_as_they_were_put() -> None:
    table = labels_of(*FLEET)
    assert [table.of(slot) for slot in range(len(FLEET))] == list(FLEET)
    assert (table.value(1, "zone"), table.value(3, "zone")) == ("b", None)


def test_a_column_holds_pairs_that_can_be_read_back() -> None:
    table = labels_of({"zone": "b"})
    pair = int(table.column("zone")[0])
    assert (table.pair_value(pair), table.pair_id("zone", "b")) == ("b", pair)


def test_columns_beyond_the_limit_are_forgotten_and_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "COLUMN_LIMIT", 2)
    table = labels_of({key: key for key in "abcd"})
    for key in "abcda":
        assert table.equal(key, key, slots_of(0)).all()
    assert len(table._columns) == 2


def test_names_of_vanished_nodes_are_forgotten_and_answers_stay_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SWEEP_FLOOR", 32)
    table = LabelColumns()
    table.grow(4)
    table._sweep_at = 32
    for turn in range(1000):
        table.put(turn % 4, {"host": f"n{turn}", "gen": str(turn % 4)})
        assert table.equal("host", f"n{turn}", slots_of(turn % 4)).all()
    assert len(table._pairs) < 100
    assert table.epoch > 0
    assert table.holds(SelectorRule("gen", Operator.GT, ("1",)), np.arange(4)).tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert table.of(3) == {"host": "n999", "gen": "3"}


def test_an_integer_label_is_read_as_kubernetes_reads_it() -> None:
    assert [integer(text) for text in ("007", "+7", "7.0", "")] == [7, 7, None, None]
