"""Pods of one template are decoded once, with the same result as without the cache."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.types.heads import PodHead
from stretto.api.wire.limits import MAX_BYTES
from stretto.base.errors import InputError
from stretto.stores.embedded.admission import decode_pod
from stretto.stores.embedded.templates import TemplateCache

_LIKE = b'{"metadata":{"name":"%b","namespace":"web"},"spec":{"containers":[{"name":"main"}]}}'
_TEXTS = (
    b'{"metadata":{"name":"%b","labels":{"app":"shop"}},"spec":{}}',
    b'{"metadata": {"labels": {"app": "shop"}, "name": "%b"}, "spec": {"priority": 7}}',
    b'{"metadata":{"labels":{"name":"%b"},"name":"fixed"},"spec":{}}',
    b'{"metadata":{"labels":{"name":"fixed"},"name":"%b"},"spec":{}}',
    b'{"spec":{"containers":[{"name":"%b"}]},"metadata":{"name":"%b"}}',
    b'{"metadata":{"name":"%b","name":"fixed"},"spec":{}}',
    b'{"metadata":{"name":"fixed","name":"%b"},"spec":{}}',
    b'{"metadata":{"generateName":"%b-"},"spec":{"nodeName":"n-1"}}',
    b'{"metadata":{"name":"","generateName":"%b-"},"spec":{}}',
    b'{"metadata":{"name":"%b"},"spec":{"schedulingGroup":{"podGroupName":"%b"}}}',
)
_NAMES = st.one_of(
    st.sampled_from([b"a", b"web-1", b"web-2", b"x.y", b"fixed"]),
    st.sampled_from([b"", b"A", b"-a", rb"\u0061", b'a","uid":"u', b"\xc3\xa9", b"\xff", b"a\\"]),
)


def without_name(head: PodHead) -> PodHead:
    return msgspec.structs.replace(head, metadata=msgspec.structs.replace(head.metadata, name=""))


def as_decoded(body: bytes) -> tuple[str, PodHead] | str:
    try:
        head = decode_pod(body)
    except InputError as error:
        return str(error)
    return head.metadata.name, without_name(head)


def as_read(patterns: TemplateCache, body: bytes) -> tuple[str, PodHead] | str:
    try:
        name, head = patterns.read_one(body)
    except InputError as error:
        return str(error)
    assert head.metadata.name in ("", name)
    return name, without_name(head)


@given(st.lists(st.tuples(st.sampled_from(_TEXTS), _NAMES), max_size=30))
def test_what_is_read_is_what_would_be_decoded(pods: list[tuple[bytes, bytes]]) -> None:
    patterns = TemplateCache()
    for text, name in pods:
        body = text.replace(b"%b", name)
        assert as_read(patterns, body) == as_decoded(body)


def test_the_second_pod_of_a_template_shares_the_head_of_all_that_follow() -> None:
    patterns = TemplateCache()
    heads = [patterns.read_one(_LIKE % b"web-%d" % index) for index in range(5)]
    assert [name for name, _ in heads] == [f"web-{index}" for index in range(5)]
    assert heads[1][1] is heads[2][1] is heads[3][1] is heads[4][1]
    assert heads[1][1].metadata.name == ""


def test_the_first_pod_of_a_template_shares_the_head_if_its_like_follows_in_the_batch() -> None:
    names, heads = TemplateCache().read([_LIKE % b"web-%d" % index for index in range(5)])
    assert names == [f"web-{index}" for index in range(5)]
    assert heads[0].metadata.name == ""
    assert all(head is heads[0] for head in heads)


@given(st.lists(st.tuples(st.sampled_from(_TEXTS), _NAMES), max_size=30))
def test_a_batch_is_read_like_its_pods_one_by_one(pods: list[tuple[bytes, bytes]]) -> None:
    bodies = [text.replace(b"%b", name) for text, name in pods]
    bodies = [body for body in bodies if not isinstance(as_decoded(body), str)]
    names, heads = TemplateCache().read(bodies)
    found = list(zip(names, map(without_name, heads), strict=True))
    assert found == [as_decoded(body) for body in bodies]


def test_an_invalid_name_keeps_its_own_head() -> None:
    patterns = TemplateCache()
    heads = [patterns.read_one(_LIKE % name)[1] for name in (b"A", b"B", b"web-1", b"C")]
    assert [head.metadata.name for head in heads] == ["A", "B", "web-1", "C"]


def test_templates_that_take_turns_are_all_known() -> None:
    patterns = TemplateCache()
    other = _LIKE.replace(b"main", b"side")
    for index in range(4):
        mine, theirs = (patterns.read_one(text % b"web-%d" % index)[1] for text in (_LIKE, other))
    assert (mine.metadata.name, theirs.metadata.name) == ("", "")
    assert mine is not theirs


def test_a_text_whose_first_name_is_not_the_pods_is_decoded_each_time() -> None:
    patterns = TemplateCache()
    text = b'{"spec":{"containers":[{"name":"web-1"}]},"metadata":{"name":"web-1"}}'
    heads = [patterns.read_one(text)[1] for _ in range(4)]
    assert [head.metadata.name for head in heads] == ["web-1"] * 4


def test_a_pod_that_is_too_large_is_refused_whatever_was_seen_before() -> None:
    patterns = TemplateCache()
    large = _LIKE.replace(b"main", b"m" * (MAX_BYTES - len(_LIKE) - 1))
    for name in (b"a", b"b", b"c"):
        patterns.read_one(large % name)
    with pytest.raises(InputError, match="bytes"):
        patterns.read_one(large % (b"a" * 200))


@pytest.mark.parametrize("body", [b"", b"\0web\0", b'"name":"web"name":"', b"web"])
def test_what_is_no_json_is_refused_before_and_after_patterns_are_known(body: bytes) -> None:
    patterns = TemplateCache()
    for _ in range(2):
        with pytest.raises(InputError, match="well-formed"):
            patterns.read_one(body)
        for name in (b"a", b"b", b"c"):
            patterns.read_one(_LIKE % name)
