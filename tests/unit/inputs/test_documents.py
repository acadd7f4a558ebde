"""The documents say what the code reads."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stretto.base.rng import Rng
from stretto.inputs.scenario import schema
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.traces.formats import TRACES


def structs() -> Iterator[type[msgspec.Struct]]:
    for item in vars(schema).values():
        if isinstance(item, type) and issubclass(item, msgspec.Struct):
            yield item
    for name in TRACES.built_in():
        found = TRACES.get(name)
        yield found.keys
        yield from [found.node_keys] if found.node_keys is not None else ()


def test_every_key_of_a_scenario_is_documented(repo_root: Path) -> None:
    text = (repo_root / "docs" / "reference" / "scenario.md").read_text()
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    words = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", text))))
    keys = {key for struct in structs() for key in struct.__struct_encode_fields__} - {"source"}
    keys |= set(TRACES.built_in())
    assert keys - words == set()


def test_every_format_of_a_trace_is_documented(repo_root: Path) -> None:
    text = (repo_root / "docs" / "traces.md").read_text()
    assert [name for name in TRACES.built_in() if f"\n## {name}\n" not in text] == []


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_scenarios_in_the_document_run(repo_root: Path, tmp_path: Path, number: int) -> None:
    text = (repo_root / "docs" / "reference" / "scenario.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "s.yaml").write_text(blocks[number])
    assert materialise(load_scenario(tmp_path / "s.yaml"), Rng(0)).nodes
