"""Kubeconfigs: what they may hold, which of several files counts, and plugins that log in."""

import asyncio
import base64
import json
import os
import pty
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from stretto.base.errors import InputError
from stretto.stores.kube.login import exec_plugins
from stretto.stores.kube.login.access import KubeconfigAccess, Login
from tests.support.certificates import self_signed

SERVER = {"server": "https://127.0.0.1:1"}
VERSION = "client.authentication.k8s.io/v1"
LATER, SOON = "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z"


def config(user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig with one context."""
    return {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {**SERVER, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "here"}}],
    }


def written(folder: Path, whole: Any, name: str = "kubeconfig") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole), encoding="utf-8")
    return path


def login(access: KubeconfigAccess, *, renew: bool = False) -> Login:
    return asyncio.run(access.login(renew=renew))


def of(folder: Path, user: dict[str, Any] | None = None, **cluster: Any) -> Login:
    return login(KubeconfigAccess(written(folder, config(user, **cluster))))


# ---------------------------------------------------------------- credentials


def test_a_token_is_shown_and_a_password_too(tmp_path: Path) -> None:
    assert of(tmp_path, {"token": "secret"}).authorization == "Bearer secret"
    said = of(tmp_path, {"username": "ann", "password": "pw"}).authorization
    assert said == f"Basic {base64.b64encode(b'ann:pw').decode()}"
    assert of(tmp_path).authorization == ""


def test_a_token_s_file_counts_more_and_is_read_each_time(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    user = {"token": "other", "tokenFile": "token"}  # from the folder of the kubeconfig
    access = KubeconfigAccess(written(tmp_path, config(user)))
    assert login(access).authorization == "Bearer first"
    (tmp_path / "token").write_text("second")
    assert login(access).authorization == "Bearer second"


def test_the_kubeconfig_itself_is_read_again_when_the_server_refuses(tmp_path: Path) -> None:
    access = KubeconfigAccess(written(tmp_path, config({"token": "old"})))
    login(access)
    written(tmp_path, config({"token": "new"}))
    assert login(access).authorization == "Bearer old"
    assert login(access, renew=True).authorization == "Bearer new"


def test_certificates_come_from_files_or_stand_in_the_kubeconfig(tmp_path: Path) -> None:
    pair = self_signed(tmp_path, "us")
    names = {"client-certificate": pair.cert.name, "client-key": pair.key.name}
    first = of(tmp_path, names, **{"certificate-authority": pair.cert.name})
    inline = {
        f"{key}-data": base64.b64encode((tmp_path / file).read_bytes()).decode()
        for key, file in names.items()
    }
    authority = {"certificate-authority-data": inline["client-certificate-data"]}
    second = of(tmp_path, inline, **authority)
    for found in (first, second):
        assert found.context is not None
        assert found.context.get_ca_certs()[0]["subject"] == ((("commonName", "us"),),)
        assert found.shown.startswith("the client certificate (valid until 2")


def test_what_stands_in_the_kubeconfig_may_go_over_several_lines(tmp_path: Path) -> None:
    text = base64.encodebytes(self_signed(tmp_path, "us").cert.read_bytes()).decode()
    assert text.count("\n") > 1
    context = of(tmp_path, None, **{"certificate-authority-data": text}).context
    assert context is not None
    assert len(context.get_ca_certs()) == 1


def test_trust_stays_the_same_object_while_nothing_has_changed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    access = KubeconfigAccess(written(tmp_path, config({"tokenFile": "token"})))
    before = login(access).context
    (tmp_path / "token").write_text("second")
    assert login(access).context is before
    written(tmp_path, config({"tokenFile": "token"}, **{"insecure-skip-tls-verify": True}))
    assert login(access, renew=True).context is not before


# ---------------------------------------------------------------- several files


def test_of_several_files_the_first_with_a_value_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"current-context": "x", "users": [{"name": "u", "user": {"tokenFile": "token"}}]}
    paths = [written(tmp_path / "a", one), written(tmp_path / "b", config({"token": "b"}))]
    (tmp_path / "a" / "token").write_text("a")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([*map(str, paths), str(tmp_path / "none")]))
    access = KubeconfigAccess()
    assert (access.namespace, login(access).authorization) == ("default", "Bearer a")
    assert access.namespace == "here"


def test_another_context_may_be_named(tmp_path: Path) -> None:
    whole = config({"token": "x"}, **{"tls-server-name": "kube", "proxy-url": "http://p:1"})
    whole["contexts"].append({"name": "y", "context": {"cluster": "c", "user": "v"}})
    whole["users"].append({"name": "v", "user": {"token": "y"}})
    found = login(KubeconfigAccess(written(tmp_path, whole), "y"))
    assert (found.authorization, found.server_name, found.proxy) == (
        "Bearer y",
        "kube",
        "http://p:1",
    )


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("whole", "complaint"),
    [
        ("", "has no current context.*--context"),
        ({**config(), "current-context": ""}, "has no current context.*use-context NAME"),
        ("- a\n", "one object"),
        ("{not yaml", "YAML"),
        ({"current-context": "x"}, "context: got 'x', expected one of its contexts: none"),
        ({**config(), "current-context": "y"}, "got 'y', expected one of its contexts: x"),
        ({"current-context": "x", "contexts": ["x"]}, "list of entries"),
        ({"current-context": "x", "contexts": 5}, "list of entries"),
        (config({"token": 5}), r"users, u: .*\$.token"),
        (config(None, server="http://example.com"), "https, because the request contains tokens"),
        (config(None, server=None), "an address such as"),
        (config(None, server="https://kube:6a43"), "an address such as .*6a43"),
        (config(None, server="https://127.0.0.1:1/\u00fc"), "an address such as"),
        (config(None, server="https://a..b"), "'a..b', expected a host whose parts"),
        (config(None, **{"tls-server-name": "a..b"}), "tls-server-name: .*a host whose parts"),
        (config(None, **{"proxy-url": "socks5://proxy:1"}), "no other type of proxy"),
        (config(None, **{"proxy-url": "proxy:1"}), "proxy-url: .*http://host:3128"),
        (config(None, **{"certificate-authority": "none"}), "certificate-authority"),
        (config(None, **{"certificate-authority": "no\0ne"}), "a file that can be read"),
        (
            config(None, **{"certificate-authority-data": "\u00fc"}),
            "certificate-authority: .*base64",
        ),
        (config(None, **{"certificate-authority-data": "YQ=="}), "certificates"),
        (config({"client-key-data": "???"}), "client-key"),
        (config({"auth-provider": {"name": "gcp"}}), "exec plugin"),
        (config({"tokenFile": "none"}), "tokenFile"),
        (config({"token": "a\r\nb"}), "the token of kubeconfig .*without line breaks"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, whole: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        login(KubeconfigAccess(written(tmp_path, whole)))


@pytest.mark.parametrize(
    "cluster",
    [
        {"server": "https://ann:geheim@127.0.0.1:1"},
        {"proxy-url": "http://ann:geheim@[::1"},
        {"proxy-url": "ftp://ann:geheim@127.0.0.1:1"},
    ],
)
def test_an_address_with_a_password_is_not_repeated(
    tmp_path: Path, cluster: dict[str, str]
) -> None:
    with pytest.raises(InputError) as reported:
        of(tmp_path, None, **cluster)
    assert "geheim" not in str(reported.value)


def test_an_encrypted_key_is_rejected_without_a_passphrase_prompt(
    tmp_path: Path,
) -> None:
    pair = self_signed(tmp_path, "us")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked = key.private_bytes(*form, serialization.BestAvailableEncryption(b"x"))
    (tmp_path / "locked.key").write_bytes(locked)
    names = {"client-certificate": pair.cert.name, "client-key": "locked.key"}
    request = f"""
import asyncio, pathlib, sys
from stretto.stores.kube.login.access import KubeconfigAccess
asyncio.run(KubeconfigAccess(pathlib.Path({str(written(tmp_path, config(names)))!r})).login())
"""
    code, said = on_a_terminal([sys.executable, "-c", request])
    assert (code != 0, "passphrase" in said, "Enter PEM" in said) == (True, True, False)


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """Exit status and output of a program on a terminal without a user."""
    pid, line = pty.fork()
    if not pid:
        os.execv(command[0], command)
    said, began = b"", time.monotonic()
    while b"Enter PEM" not in said and time.monotonic() - began < 60:
        try:
            said += os.read(line, 4096)
        except OSError:  # its end is the program's
            break
    os.close(line)
    return os.waitpid(pid, 0)[1], said.decode()


# ---------------------------------------------------------------- plugins


def plugin(folder: Path, script: str, **more: Any) -> KubeconfigAccess:
    """A kubeconfig with credentials from a Python script."""
    (folder / "plugin.py").write_text(script)
    words = {"apiVersion": VERSION, "command": sys.executable, "args": [str(folder / "plugin.py")]}
    return KubeconfigAccess(written(folder, config({"exec": {**words, **more}})))


def counting(folder: Path, until: str = "") -> str:
    """A script that prints a new token on each call."""
    status = f'{{"token": f"t{{n}}", "expirationTimestamp": "{until}"}}'
    if not until:
        status = '{"token": f"t{n}"}'
    return f"""
import json, pathlib
file = pathlib.Path({str(folder / "count")!r})
n = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(n))
print(json.dumps({{"apiVersion": "{VERSION}", "kind": "ExecCredential", "status": {status}}}))
"""


@pytest.mark.parametrize(("until", "second"), [("", "t1"), (LATER, "t1"), (SOON, "t2")])
def test_a_plugin_runs_again_when_its_token_expires(
    tmp_path: Path, until: str, second: str
) -> None:
    access = plugin(tmp_path, counting(tmp_path, until))
    assert login(access).authorization == "Bearer t1"
    assert login(access).authorization == f"Bearer {second}"


def test_a_plugin_runs_again_when_the_server_refuses_its_token(tmp_path: Path) -> None:
    access = plugin(tmp_path, counting(tmp_path))
    login(access)
    assert login(access, renew=True).authorization == "Bearer t2"


def test_a_plugin_gets_its_environment_and_the_server(tmp_path: Path) -> None:
    script = f"""
import json, os
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = os.environ["WHO"] + info["spec"]["cluster"]["server"]
print(json.dumps({{"apiVersion": "{VERSION}", "kind": "x", "status": {{"token": token}}}}))
"""
    more = {"env": [{"name": "WHO", "value": "ann@"}], "provideClusterInfo": True}
    assert login(plugin(tmp_path, script, **more)).authorization == "Bearer ann@https://127.0.0.1:1"


def test_a_plugin_gets_the_authority_from_the_folder_of_the_server_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"""
import json, os
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = info["spec"]["cluster"]["certificate-authority-data"][:8]
print(json.dumps({{"apiVersion": "{VERSION}", "kind": "x", "status": {{"token": token}}}}))
"""
    plugin(tmp_path, script, provideClusterInfo=True)
    (tmp_path / "there").mkdir()
    self_signed(tmp_path / "there", "us")
    whole = {"clusters": config(None, **{"certificate-authority": "us.crt"})["clusters"]}
    paths = written(tmp_path / "there", whole), tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)))
    begins = base64.b64encode(b"-----BEGIN").decode()[:8]
    assert login(KubeconfigAccess()).authorization == f"Bearer {begins}"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("print('x' * (3 << 20))", "did not print an ExecCredential"),
        ("import sys; sys.exit('log in ' + 'x' * (3 << 20))", "log in x{0,1000}; run it"),
        ("import sys; sys.exit('log in first')", "ended with exit code 1: log in first"),
        ("print('hello')", "did not print an ExecCredential"),
        (
            'print(\'{"apiVersion": "v0", "kind": "x", "status": {}}\')',
            "has apiVersion v0",
        ),
        (f'print(\'{{"apiVersion": "{VERSION}", "kind": "x", "status": {{}}}}\')', "neither"),
    ],
)
def test_a_plugin_that_gives_nothing_is_named(tmp_path: Path, script: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        login(plugin(tmp_path, script))


def test_no_more_plugin_output_is_kept_than_an_answer_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.stores.kube.login.exec_plugins.WITHIN", 1.0)
    kept: list[int] = []

    async def count(stream: asyncio.StreamReader, real: Any = exec_plugins._beginning) -> bytes:
        kept.append(len(said := await real(stream)))
        return said

    monkeypatch.setattr(exec_plugins, "_beginning", count)
    with pytest.raises(InputError, match="ExecCredential"):
        login(plugin(tmp_path, "print('x' * (5 << 20))"))
    assert max(kept) == exec_plugins.MOST_BYTES


@pytest.mark.parametrize("more", [{"args": ["a\0b"]}, {"env": [{"name": "A=B"}]}])
def test_a_plugin_with_words_that_no_program_takes_is_named(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="a credential"):
        login(plugin(tmp_path, "", **more))


def test_a_plugin_that_is_not_installed_is_named(tmp_path: Path) -> None:
    access = plugin(tmp_path, "", command="no-such-plugin")
    with pytest.raises(InputError, match="no-such-plugin"):
        login(access)
