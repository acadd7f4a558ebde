"""Files that are no text, pipes and odd names: every verb states what, where and what to do."""

import gzip
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

UNREADABLE = {
    "binary": bytes(range(128, 256)) * 20,
    "UTF-16 without a mark": "fleet: {}\n".encode("utf-16-le"),
    "Latin-1": "name: caf\xe9\n".encode("latin-1"),
    "half of a gzip file": gzip.compress(b"fleet: {}\n" * 200)[:-12],
    "empty": b"",
}
VERBS = [
    "run",
    "plan --on 1cpu-1gib:1",
    "simulate",
    "convert",
    "validate",
    "get pods --on",
    "story x --on",
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("content", UNREADABLE)
def test_a_file_that_is_no_text_is_refused_with_its_name(
    tmp_path: Path, verb: str, content: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(UNREADABLE[content])
    more = [str(tmp_path / "out.jsonl")] if verb == "convert" else []
    result = CliRunner().invoke(cli, [*verb.split(), str(path), *more])
    assert (result.exit_code, str(path) in result.output) == (2, True), result.output
    assert "unexpected" not in result.output


@pytest.mark.parametrize("verb", VERBS)
def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path: Path, verb: str) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    more = [str(tmp_path / "out.jsonl")] if verb == "convert" else []
    result = CliRunner().invoke(cli, [*verb.split(), str(tmp_path / "pipe.yaml"), *more])
    assert result.exit_code == 2
    assert "got 'a pipe', expected a file" in result.output


@pytest.mark.parametrize("verb", ["explain", "story"])
def test_control_characters_of_a_name_are_not_written_to_the_terminal(
    tmp_path: Path, verb: str
) -> None:
    (tmp_path / "s.yaml").write_text("fleet: {like: '1cpu-1gib:1'}\n")
    words = [verb, "web\n\x1b[31m" + "x" * 1000, "--on", str(tmp_path / "s.yaml")]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 6
    assert ("\x1b" in result.output, "x" * 500 in result.output) == (False, False)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_a_recording_may_begin_with_a_byte_order_mark(
    repo_root: Path, tmp_path: Path, encoding: str
) -> None:
    text = gzip.decompress((repo_root / "examples/recordings/monday.jsonl.gz").read_bytes())
    (tmp_path / "m.jsonl").write_bytes(text.decode().encode(encoding))
    result = CliRunner().invoke(cli, ["validate", str(tmp_path / "m.jsonl")])
    assert (result.exit_code, "18 objects" in result.output) == (0, True)
