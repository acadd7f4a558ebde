"""The words of docs/words.md: what its tables retire appears in no name and in no text.

A failing test names file, line and word; docs/words.md says what to write instead.
"""

import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_structure import ROOT, tracked_texts

GLOSSARY = "docs/words.md"
#: Files whose text is checked; recorded data, licenses and lock files are foreign.
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".out", ".tpl", ""}
FOREIGN = ("LICENSE", "requirements", "tests/data/", "src/stretto/web/dashboard/static/vendor/")
#: (file or folder, word): the reason why it may contain a retired word.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("src/stretto_lab/chaos/setup.py", "kin"): "a random stream; another name draws other seeds",
    ("src/stretto_lab/chaos/draws/preemption.py", "relief"): "a random stream, as above",
}


class Retired(NamedTuple):
    """The retired words of the glossary."""

    #: Words and phrases that no text contains.
    everywhere: frozenset[str]
    #: Words that no name contains.
    in_names: frozenset[str]
    #: Words that no name of a test contains.
    in_tests: frozenset[str]


_WORD = re.compile(r"[A-Za-z_]\w*")
_PART = re.compile(r"[^\W_]+")


@cache
def retired() -> Retired:
    found: dict[str, list[str]] = {}
    header = ""
    for line in (ROOT / GLOSSARY).read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| ---"):
            header = header if line.startswith("|") else ""
            continue
        cell = line.strip()[1:-1].split("|")[-1]
        if header:
            found.setdefault(header, []).extend(filter(None, map(str.strip, cell.split(","))))
        header = header or cell.strip()
    in_tests = found.pop("retired in names of tests")
    words = [word for each in found.values() for word in each]
    names = {word.strip("`").lower() for word in words if word.startswith("`")}
    everywhere = {word.lower() for word in words if not word.startswith("`")}
    return Retired(frozenset(everywhere), frozenset(names), frozenset(in_tests))


@cache
def texts() -> dict[str, str]:
    return {
        name: text
        for name, text in tracked_texts().items()
        if Path(name).suffix in SUFFIXES
        and not name.startswith(FOREIGN)
        and name not in (GLOSSARY, "tests/test_words.py")
    }


@cache
def words_of(name: str) -> frozenset[str]:
    """The words of a name in snake or camel case."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return frozenset(part.lower() for part in parts)


def is_exception(file: str, word: str) -> bool:
    return any(file.startswith(place) and word == other for place, other in EXCEPTIONS)


def names_in(text: str) -> Iterator[tuple[int, str]]:
    lines = iter(text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


@cache
def bad_words(name: str) -> frozenset[str]:
    """Retired words in a name; names of tests are sentences."""
    every, names, tests = retired()
    return words_of(name) & (every | (tests if name.startswith("test_") else names))


def bad_names(file: str, text: str) -> list[str]:
    if not any(map(bad_words, set(_WORD.findall(text)))):
        text = ""  # no need to tokenize it
    return [
        f"{file}:{line} {name}: {word}"
        for line, name in [(1, Path(file).stem.removeprefix("test_")), *names_in(text)]
        for word in bad_words(name)
        if not is_exception(file, word)
    ]


@cache
def words_of_phrases() -> dict[str, frozenset[str]]:
    """The words of each phrase: a text contains the phrase only if it contains them all."""
    return {phrase: frozenset(_PART.findall(phrase)) for phrase in retired().everywhere}


@cache
def pattern(phrases: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    either = "|".join(
        re.escape(word).replace(r"\ ", r"[\s_]+(?:[#*]+\s+)?") for word in longest_first
    )
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


def bad_phrases(file: str, text: str) -> list[str]:
    words = set(_PART.findall(text.lower()))
    possible = frozenset(each for each, parts in words_of_phrases().items() if parts <= words)
    return [
        f"{file}:{text.count(chr(10), 0, match.start()) + 1} {match.group()}"
        for match in (pattern(possible).finditer(text) if possible else ())
        if not is_exception(file, " ".join(match.group().lower().split()))
    ]


def test_no_name_contains_a_retired_word() -> None:
    python = {name: text for name, text in texts().items() if name.endswith(".py")}
    assert [each for name, text in python.items() for each in bad_names(name, text)] == []


def test_no_text_contains_a_retired_word() -> None:
    assert [each for name, text in texts().items() for each in bad_phrases(name, text)] == []


def test_every_exception_is_needed() -> None:
    needless = [
        (place, word)
        for place, word in EXCEPTIONS
        if not any(
            name.startswith(place) and re.search(word.replace(" ", r"[\s_]+"), text, re.IGNORECASE)
            for name, text in texts().items()
        )
    ]
    assert needless == []


@pytest.mark.parametrize(
    "name", ["relieve_after", "PodLikeness", "_asked", "ROOM", "NumaAsks", "test_it_is_told"]
)
def test_a_retired_word_in_a_name_is_found(name: str) -> None:
    assert bad_names("x.py", f"{name} = 1\n") != []


@pytest.mark.parametrize("text", ["Nobody\n    leaves", "# the pod is\n# told", "test_for_ever"])
def test_a_retired_phrase_is_found(text: str) -> None:
    assert bad_phrases("x.py", text) != []


@pytest.mark.parametrize("text", ["mushroom", "an award", "excellent", "the request", "told"])
def test_other_words_are_not_found(text: str) -> None:
    assert bad_phrases("x.py", text) == []
