"""The shipped RBAC roles permit exactly the reads and writes of each component.

In one file for the scheduler as a whole, in another for its roles as daemons of their own.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.api.kinds.table import TABLE
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.commands.roles import binder, controller, dispatcher, shard
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
CHART = DEPLOY / "helm" / "stretto" / "templates"
VERBS = {"dispatcher": dispatcher, "shard": shard, "binder": binder, "controller": controller}
WRITES = {
    "dispatcher": {
        "patch pods/status",
        "patch pods",
        "patch nodes",
        "delete schedulers",
        "create pods/eviction",
    },
    "shard": {"patch pods/status", "create schedulers", "patch schedulers/status"},
    "binder": {"create pods/binding", "create pods/eviction", "delete pods", "patch pods/status"},
    "controller": {"patch podgroups/status", "patch queues/status", "create reservations"},
}


READERS = {"stretto-reads": "rbac-roles.yaml", "stretto-scheduler": "rbac-scheduler.yaml"}


@cache
def rules(name: str) -> list[dict[str, Any]]:
    """The rules of a ClusterRole."""
    text = (DEPLOY / READERS.get(name, "rbac-roles.yaml")).read_text(encoding="utf-8")
    found = [each for each in yaml.safe_load_all(text) if each["kind"] == "ClusterRole"]
    (role,) = [each for each in found if each["metadata"]["name"] == name]
    return list(role["rules"])


def granted(name: str) -> set[str]:
    """Verbs with resources that a ClusterRole grants."""
    return {
        f"{verb} {resource}"
        for rule in rules(name)
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }


def readable(name: str, verb: str) -> set[str]:
    """Resources with their groups on which a ClusterRole grants a verb."""
    return {
        f"{resource}.{group}" if group else resource
        for rule in rules(name)
        if verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def rights_in_files() -> dict[str, set[str]]:
    """Rights of each role, from the files: verb and resource, with subresource and group.

    The master is not one: its rights are compared with those of the scheduler (`test_master`).
    """
    found: dict[str, set[str]] = {}
    for file in sorted(set(DEPLOY.glob("rbac-*.yaml")) - {DEPLOY / "rbac-master.yaml"}):
        for each in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if each["kind"] not in ("ClusterRole", "Role"):
                continue
            role = each["metadata"]["name"].removeprefix("stretto-")
            found.setdefault(role, set()).update(
                f"{verb} {resource}.{group}"
                for rule in each["rules"]
                for verb in rule["verbs"]
                for group in rule["apiGroups"]
                for resource in rule["resources"]
            )
    return found


def rights_in_table() -> dict[str, set[str]]:
    """Rights of each role, from the table of kinds."""
    found: dict[str, set[str]] = {}
    for entry in TABLE.entries():
        for each in entry.all_grants():
            resource = "/".join(filter(None, (entry.kind.plural, each.subresource)))
            rights = {f"{verb} {resource}.{entry.kind.group}" for verb in each.verbs}
            found.setdefault(each.role, set()).update(rights)
    return found


def test_the_roles_grant_exactly_the_rights_of_the_table_of_kinds() -> None:
    files, table = rights_in_files(), rights_in_table()
    assert set(files) == set(table)
    for role, rights in table.items():
        assert files[role] - rights == set(), f"{role}: too much in deploy/"
        assert rights - files[role] == set(), f"{role}: missing in deploy/"


@pytest.mark.parametrize("role", READERS)
@pytest.mark.parametrize("profile", ["default", "kube-parity"])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_every_kind_that_is_followed_may_be_read(role: str, profile: str, verb: str) -> None:
    clock = ManualClock()
    config = plane_config(load_profile(profile), (), 1, "numpy", REPORT)
    plane = Plane(config, MemoryStore(clock, Rng(1)), clock)
    followed = {feed.kind.resource for feed in plane.pump._feeds}
    assert followed - readable(role, verb) == set(), f"add them to {READERS[role]}"


@pytest.mark.parametrize("role", VERBS)
def test_a_role_may_write_what_it_writes(role: str) -> None:
    assert WRITES[role] <= granted(f"stretto-{role}")


def test_only_the_binder_binds_and_only_the_dispatcher_touches_nodes() -> None:
    assert [r for r in VERBS if "create pods/binding" in granted(f"stretto-{r}")] == ["binder"]
    assert [r for r in VERBS if "patch nodes" in granted(f"stretto-{r}")] == ["dispatcher"]


def test_the_chart_takes_the_rights_of_the_roles_from_the_manifest() -> None:
    linked = CHART.parent / "rbac-roles.yaml"
    assert linked.resolve() == (DEPLOY / "rbac-roles.yaml").resolve()
    text = (CHART / "roles.yaml").read_text(encoding="utf-8")
    assert f'.Files.Get "{linked.name}"' in text
    assert "rules: {{- toYaml $each.rules" in text


@pytest.mark.parametrize("role", VERBS)
def test_a_role_has_a_lease_that_it_may_keep(role: str) -> None:
    text = (DEPLOY / "rbac-roles.yaml").read_text(encoding="utf-8")
    leases = [
        name
        for each in yaml.safe_load_all(text)
        if each["kind"] == "Role" and each["metadata"]["name"] == f"stretto-{role}-lease"
        for rule in each["rules"]
        for name in rule.get("resourceNames", ())
    ]
    expected = [f"stretto-shard-{n}" for n in range(8)] if role == "shard" else [f"stretto-{role}"]
    assert leases == expected


def test_the_charts_arguments_are_options_of_every_role() -> None:
    text = (CHART / "deployment.yaml").read_text(encoding="utf-8")
    block = text.split("          args:\n", 1)[1].split("          ports:", 1)[0]
    words = set(re.findall(r"- (--[\w-]+)", block)) - {"--shards"}
    for verb in VERBS.values():
        known = {word for each in verb.params for word in (*each.opts, *each.secondary_opts)}
        assert words <= known
