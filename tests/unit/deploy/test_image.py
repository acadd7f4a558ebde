"""The image's recipe: versions, no root, nothing from anywhere, and what the pods count on."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """Instructions and their words, without comments and line ends."""
    plain = "\n".join(line for line in TEXT.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", plain)
    lines = filter(None, map(str.strip, joined.splitlines()))
    return [(first.upper(), rest) for first, _, rest in (line.partition(" ") for line in lines)]


def words(instruction: str) -> list[str]:
    """The arguments of each instruction of a kind."""
    return [rest for name, rest in instructions() if name == instruction]


def last_stage() -> list[tuple[str, str]]:
    """The instructions of the stage that is shipped."""
    found = instructions()
    begins = max(at for at, (name, _) in enumerate(found) if name == "FROM")
    return found[begins:]


def test_every_base_has_a_version_and_no_host() -> None:
    for base in words("FROM"):
        image = base.split()[0]
        assert re.fullmatch(r"python:\$\{PYTHON\}-slim-bookworm", image)
    assert words("ARG")[0] == "PYTHON=3.13"


def test_the_container_runs_as_the_unprivileged_user() -> None:
    user = [rest for name, rest in last_stage() if name == "USER"][-1]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    pod = next(
        each
        for each in yaml.safe_load_all((ROOT / "deploy/scheduler.yaml").read_text(encoding="utf-8"))
        if each["kind"] == "Deployment"
    )["spec"]["template"]["spec"]
    assert user.split(":")[0] == str(pod["securityContext"]["runAsUser"])


def test_nothing_comes_from_anywhere_but_the_lock() -> None:
    assert words("ADD") == []
    assert not re.search(r"curl|wget|apt-get|--break-system", TEXT)
    (fetched,) = [rest for rest in words("RUN") if "pip wheel" in rest]
    assert "--require-hashes --requirement requirements.lock" in fetched


def test_what_is_copied_is_there_and_let_in() -> None:
    let_in = (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    for rest in words("COPY"):
        if rest.startswith("--from"):
            continue
        for name in rest.split()[:-1]:
            assert (ROOT / name).exists()
            assert f"!{name}" in let_in


def test_the_kernels_are_compiled_where_the_image_keeps_them() -> None:
    names = [name for name, _ in instructions()]
    compiled = next(i for i, (_, rest) in enumerate(instructions()) if "stretto kernels" in rest)
    assert "NUMBA_CACHE_DIR=/opt/stretto/kernels" in words("ENV")[1]
    assert names.index("ENV", names.index("ENV") + 1) < compiled


def test_kernels_are_compiled_for_the_processor_that_runs_them() -> None:
    assert set(re.findall(r"NUMBA_CPU_NAME=(\S+)", TEXT)) == {"${PROCESSOR}"}
    assert re.findall(r"NUMBA_CPU_FEATURES=(\S+)", TEXT) == ['""', '""']
    assert set(re.findall(r"ARG PROCESSOR=(\S+)", TEXT)) == {"generic"}
    assert "ARG PROCESSOR" in "\n".join(f"{name} {rest}" for name, rest in last_stage())


def test_the_pods_find_the_kernels_where_the_image_has_them() -> None:
    cache = re.findall(r"NUMBA_CACHE_DIR=(\S+)", TEXT)
    text = (ROOT / "deploy/scheduler.yaml").read_text(encoding="utf-8")
    assert f"command: [cp, -R, {cache[0]}/., {cache[1]}]" in text
    assert f"mountPath: {cache[1]}" in text


def test_the_image_is_the_version_that_the_manifests_name() -> None:
    chart = yaml.safe_load((ROOT / "deploy/helm/stretto/Chart.yaml").read_text(encoding="utf-8"))
    text = (ROOT / "deploy/scheduler.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"image: stretto:(\S+)", text)) == {chart["appVersion"]}
    assert f"stretto:{chart['appVersion']}" in TEXT
