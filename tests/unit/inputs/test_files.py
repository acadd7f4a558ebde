"""Files that cannot be read are settled before anything parses them."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_text, similar_path
from stretto.inputs.neutral.streams import read_start, text_lines


def refusal(path: Path, limit: int = 1000) -> str:
    with pytest.raises(InputError) as caught:
        read_text(path, limit)
    return str(caught.value).replace(f"{path}", "F")


def test_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa,b\r\n")
    assert read_text(tmp_path / "f") == "a,b\r\n"


def test_gzip_is_unpacked_whatever_the_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(gzip.compress(b"a,b"))
    assert read_text(tmp_path / "f.csv") == "a,b"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "f") == (
        "F: got nothing, expected a readable file (No such file or directory); "
        "check the path and its permissions"
    )


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "expected a readable file (Is a directory)" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b" \n\t\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    assert refusal(tmp_path / "f") == (
        "F: got nothing, expected text in the file; check the path or fetch it again"
    )


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x7fELF\0\1")
    assert refusal(tmp_path / "f") == (
        r"F: got b'\x7fELF\x00\x01', expected text, not a binary file; unpack or convert it first"
    )


def test_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("a\nb\ncafé".encode("latin-1"))
    assert refusal(tmp_path / "f") == (
        r"F, line 3: got b'\xe9', expected UTF-8 text; convert the file to UTF-8"
    )


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1001)
    assert "got '1,000 bytes and more', expected at most 1,000" in refusal(tmp_path / "f")


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(b"x" * 100_000))
    assert "expected at most 1,000" in refusal(tmp_path / "f")


def test_half_a_gzip_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(bytes(range(1, 256)))[:40])
    assert "expected a whole gzip file" in refusal(tmp_path / "f")


@pytest.mark.parametrize("read", [read_text, read_start, lambda path: list(text_lines(path))])
def test_a_pipe_is_refused_instead_of_waited_for(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="got 'a pipe', expected a file; write its content"):
        read(tmp_path / "pipe")


def test_a_device_is_refused_instead_of_read_without_end() -> None:
    with pytest.raises(InputError, match="/dev/zero: got 'a device', expected a file"):
        read_start(Path("/dev/zero"))


def test_a_link_to_a_missing_file_is_not_similar_to_itself(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").symlink_to(tmp_path / "gone.yaml")
    (tmp_path / "jobs.yaml").touch()
    assert similar_path(tmp_path / "job.yaml") == str(tmp_path / "jobs.yaml")
