"""Keys and kubeconfig of a local server."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from stretto.base.errors import InputError
from stretto.web.local.access import ServerAccess, write_kubeconfig
from stretto.web.local.keys import open_keys

ACCESS = ServerAccess("https://127.0.0.1:6443", "secret", b"PEM")


def test_keys_are_kept_between_starts(tmp_path: Path) -> None:
    first = open_keys(tmp_path / "keys")
    published = first.authentication()
    again = open_keys(tmp_path / "keys")
    assert (again.token, again.authentication()) == (first.token, published)
    assert again.dashboard_token == first.dashboard_token != first.token


def test_only_the_owner_reads_keys(tmp_path: Path) -> None:
    keys = open_keys(tmp_path / "keys")
    assert stat.S_IMODE(keys.folder.stat().st_mode) == 0o700
    private = [keys.authority.key, keys.serving.key, keys.accounts]
    private += [keys.folder / "token", keys.folder / "dashboard-token"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in private} == {0o600}


def test_a_damaged_key_is_named(tmp_path: Path) -> None:
    open_keys(tmp_path / "keys").authority.key.write_text("nonsense")
    with pytest.raises(InputError, match="--keys"):
        open_keys(tmp_path / "keys")


def test_a_kubeconfig_keeps_other_clusters_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("kind: Config\nclusters:\n- name: other\n  cluster: {server: https://x}\n")
    write_kubeconfig(path, ACCESS)
    write_kubeconfig(path, ACCESS)
    document = yaml.safe_load(path.read_text())
    assert [each["name"] for each in document["clusters"]] == ["other", "stretto"]
    assert document["current-context"] == "stretto"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_no_kubeconfig_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("- a list")
    with pytest.raises(InputError, match="--kubeconfig"):
        write_kubeconfig(path, ACCESS)
    assert path.read_text() == "- a list"


def test_a_link_to_a_kubeconfig_stays_a_link(tmp_path: Path) -> None:
    link, path = tmp_path / "link", tmp_path / "config"
    link.symlink_to(path)
    write_kubeconfig(link, ACCESS)
    assert link.is_symlink()
    assert "stretto" in path.read_text()


def test_a_leftover_of_a_killed_process_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / f".config.{os.getpid()}").symlink_to(other)
    write_kubeconfig(tmp_path / "config", ACCESS)
    assert not other.exists()


def test_entries_that_are_no_maps_stay(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("kind: Config\nusers: [text]\n")
    write_kubeconfig(path, ACCESS)
    assert yaml.safe_load(path.read_text())["users"][0] == "text"


def test_lists_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("kind: Config\nusers: 3\n")
    with pytest.raises(InputError, match="--kubeconfig"):
        write_kubeconfig(path, ACCESS)
