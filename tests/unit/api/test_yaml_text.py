"""YAML means what it means to kubectl, and cannot hurt."""

from typing import Any

import pytest

from stretto.api.edit.yaml_text import dump_document, load_documents
from stretto.base.errors import InputError


def load(text: str | bytes) -> Any:
    (document,) = load_documents(text, "f.yaml")
    return document[1]


def refusal(text: str | bytes) -> str:
    with pytest.raises(InputError) as refused:
        list(load_documents(text, "f.yaml"))
    return str(refused.value)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1", 1),
        ("-3", -3),
        ("1_000", 1000),
        ("0777", 511),
        ("0o17", 15),
        ("0x1f", 31),
        ("0b11", 3),
        ("1.5", 1.5),
        ("1e3", 1000),
        ("30.0", 30),
        ("1e30", 1e30),
        ("yes", True),
        ("Off", False),
        ("n", False),
        ("~", None),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("1:30", "1:30"),
        ("500m", "500m"),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!int 7", 7),
        ("123456789012345678901234567890", 1.2345678901234568e29),
    ],
)
def test_a_word_means_what_it_means_to_kubectl(word: str, value: object) -> None:
    assert load(f"a: {word}") == {"a": value}
    assert type(load(f"a: {word}")["a"]) is type(value)


def test_documents_are_reported_with_their_first_line() -> None:
    found = list(load_documents("a: 1\n---\n---\n# nothing\n---\nb: [1, {c: 2}]\n", "f.yaml"))
    assert found == [("f.yaml, line 1", {"a": 1}), ("f.yaml, line 5", {"b": [1, {"c": 2}]})]


def test_keys_become_texts_as_in_json() -> None:
    assert load("1: a\ntrue: b\nc: d") == {"1": "a", "true": "b", "c": "d"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2", "line 4: got 'c', expected each key once"),
        ("1: a\n'1': b", "each key once"),
        ("b: *x", "line 1: got '*x', expected a finished anchor"),
        ("a: &x [*x]", "line 1: got '*x', expected a finished anchor"),
        ("a: &x 1\n---\nb: *x", "line 3: got '*x', expected a finished anchor"),
        ("a: {<<: 1}", "got 1, expected a map, or a list of maps, under the key <<"),
        ("a: &x {b: 1}\n? *x\n: 1", "expected a text as key"),
        ("~: 1", "expected a key"),
        ("? [a]\n: b", "expected a text as key"),
        ("a: .inf", "a finite number"),
        ("a: 1e999", "a finite number"),
        (f"a: {'9' * 5000}", "a finite number"),
        ("a: !!python/object:os.system x", "plain YAML without tags"),
        ("a: !!int x", "fits its tag"),
        ("a: !!bool x", "fits its tag"),
        ("a: !mine x", "plain YAML without tags"),
        ("a:\n\tb", "line 2: got '\\tb', expected YAML; indent with spaces, not with tabs"),
        ("a: 'b", "expected YAML (found unexpected end of stream); check indentation"),
        ("a: [1\n", "line 2: got 'the end of the text', expected YAML (did not find expected"),
        ("a: b: c", "line 1: got 'a: b: c', expected YAML (mapping values are not allowed in"),
        ("a\0b", "expected YAML"),
        (b"\x89PNG\r\n\x1a\n\0", "is it a binary file?"),
        ("a: \ud800", "expected YAML"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(text: str | bytes, complaint: str) -> None:
    message = refusal(text)
    assert message.startswith("f.yaml")
    assert complaint in message


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000])
def test_deep_nesting_is_refused_before_it_is_built(text: str) -> None:
    assert "f.yaml, line 1: got 'a" in refusal(text)


def test_a_billion_laughs_are_one_refusal() -> None:
    laughs = "a: &a [x, x]\n" + "".join(
        f"{new}: &{new} [*{old}, *{old}]\n"
        for old, new in zip("abcdefghijklmnopqrst", "bcdefghijklmnopqrstu", strict=True)
    )
    assert f"at most {1_000_000 + len(laughs) // 10} in one document" in refusal(laughs)


def test_nesting_through_aliases_is_bounded() -> None:
    deep = "a0: &a0 [[x]]\n" + "".join(
        f"a{number}: &a{number} [*a{number - 1}]\n" for number in range(1, 80)
    )
    assert "at most 64 levels" in refusal(deep)


def test_an_alias_is_a_copy_of_the_value_of_its_anchor() -> None:
    found = load("a: &x {b: [1]}\nc: *x\nd: [*x, &y web, *y]\n*y : 2")
    assert found == {"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}, "web", "web"], "web": 2}
    assert found["c"] is not found["a"]


def test_merged_keys_yield_to_those_of_the_map() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {b: 5, <<: [*x, *y]}\nw: {<<: *x, a: 0}"
    found = load(text)
    assert found["z"] == {"a": 1, "b": 5, "c": 4}
    assert found["w"] == {"a": 0, "b": 2}
    assert load("a: {'<<': 1}") == {"a": {"<<": 1}}


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.api.edit.yaml_text.MAX_VALUES", 10)
    assert "at most 13 in one document" in refusal(f"[{'1,' * 15}]")  # a value more in 10 bytes


def test_a_long_list_of_objects_has_as_many_values_as_its_length_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.api.edit.yaml_text.MAX_VALUES", 10)
    assert len(load("- default/web\n" * 500)) == 500


def test_a_huge_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.api.edit.yaml_text.MAX_FILE_BYTES", 10)
    assert "split it into several files" in refusal("a: 12345678")


@pytest.mark.parametrize(
    "text", ["y", "1e3", "0777", "~", "", "1:30", ".inf", "a\nb\n", " x", "<<"]
)
def test_ambiguous_texts_are_quoted(text: str) -> None:
    assert load(dump_document({text: text})) == {text: text}


def test_what_is_written_is_made_for_humans() -> None:
    text = dump_document({"b": [{"name": "é"}], "a": "one\ntwo\n", "c": {}})
    assert text == "b:\n- name: é\na: |\n  one\n  two\nc: {}\n"
