"""Duplicate members of JSON texts: each is found, whatever the strings contain."""

import json
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from stretto.web.api.objects.json_text import parse

TEXTS = st.text(st.sampled_from('a:" \\/\n\u0001\u2028'), max_size=4)
NAMES = st.text(st.sampled_from('ab:"'), max_size=2)


def text_of(members: list[tuple[str, str]]) -> bytes:
    """An object with these members in a list."""
    dumps = partial(json.dumps, ensure_ascii=False)
    texts = [f"{dumps(key)} : {dumps(value)}" for key, value in members]
    return f'{{"l": [{{{", ".join(texts)}}}]}}'.encode()


def has_duplicates(body: bytes) -> bool:
    """Whether Python's decoder sees a member twice."""
    found: list[bool] = []

    def noted(pairs: list[tuple[str, object]]) -> None:
        found.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(body, object_pairs_hook=noted)
    return any(found)


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=5))
def test_duplicate_members_are_found_beside_any_strings(members: list[tuple[str, str]]) -> None:
    body = text_of(members)
    _, repeated = parse(body)
    assert bool(repeated) == has_duplicates(body)


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=4))
def test_duplicate_members_are_found_beside_numbers_of_characters(
    members: list[tuple[str, str]],
) -> None:
    body = text_of([*members, ("z", "")]).replace(b'"z"', b'"\\u003a"')
    _, repeated = parse(body)
    assert bool(repeated) == has_duplicates(body)
