"""Addressing of a master by commands: its URL, its certificate and their credentials."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.cli.parts.masters.address import MasterAccess, address, authorization, trust


def access(
    master: str = "http://127.0.0.1:5050",
    credential: Path | None = None,
    token: Path | None = None,
    ca: Path | None = None,
) -> MasterAccess:
    return MasterAccess(master=master, credential=credential, token=token, ca=ca)


def test_a_url_has_a_host_and_a_port() -> None:
    found = address(access("https://master.example:6060"))
    assert (found.hostname, found.port) == ("master.example", 6060)


@pytest.mark.parametrize(
    "master", ["master", "ftp://master", "http://", "http://m:0", "http://m:x"]
)
def test_anything_else_is_refused(master: str) -> None:
    with pytest.raises(InputError, match="--master"):
        address(access(master))


def test_a_token_is_sent_as_bearer(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    assert authorization(access(token=tmp_path / "token")) == "Bearer secret"


def test_principal_and_secret_are_sent_as_basic(tmp_path: Path) -> None:
    (tmp_path / "pair").write_text("user pass\n")
    assert authorization(access(credential=tmp_path / "pair")) == "Basic dXNlcjpwYXNz"


def test_two_kinds_of_credentials_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="either --token or --credential"):
        authorization(access(token=tmp_path / "token", credential=tmp_path / "pair"))


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("nothing")
    with pytest.raises(InputError, match="--ca"):
        trust(access("https://m", ca=tmp_path / "ca"))
