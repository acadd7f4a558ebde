"""Helm over ``stretto up``: it installs, upgrades, rolls back and uninstalls charts."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stretto_lab.control_plane.tools import missing, path_of
from tests.e2e.deployed import ROOT

pytestmark = [
    pytest.mark.kube,
    pytest.mark.skipif("helm" in missing(["helm"]), reason="make kube-tools PROGRAMS=helm"),
]

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
    "values.yaml": "replicas: 2\nimage: nginx:1.27\n",
    "crds/carts.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {kind: Cart, plural: carts}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""",
    "templates/web.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: web, image: "{{ .Values.image }}"}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-web}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: 80}]}
---
apiVersion: shop.example/v1
kind: Cart
metadata: {name: {{ .Release.Name }}}
""",
    "templates/migrate.yaml": """
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations:
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: migrate, command: [sh, -c, "sleep 1; exit 0"]}]
""",
}


class Release:
    """One release in a namespace of its own."""

    def __init__(self, kubeconfig: Path, name: str, chart: Path) -> None:
        self._access = [f"--kubeconfig={kubeconfig}"]
        self._name, self._chart = name, str(chart)
        self._env = {**os.environ, "HELM_CACHE_HOME": str(kubeconfig.parent / "helm")}

    def helm(self, verb: str, *words: str) -> str:
        waits = [] if verb in ("history", "status") else ["--wait", "--timeout=90s"]
        line = [str(path_of("helm")), verb, self._name, *words, *waits]
        line += ["--namespace", self._name, *self._access]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=self._env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *values: str) -> None:
        self.helm("install", self._chart, "--create-namespace", *_set(values))

    def upgrade(self, *values: str) -> None:
        self.helm("upgrade", self._chart, *_set(values))

    def get(self, kinds: str) -> list[Any]:
        line = [str(path_of("kubectl")), "get", kinds, "-n", self._name, "-o", "json"]
        done = subprocess.run([*line, *self._access], capture_output=True, check=True)
        return list(json.loads(done.stdout)["items"])


def _set(values: tuple[str, ...]) -> list[str]:
    return [f"--set={value}" for value in values]


@pytest.fixture
def shop(kubeconfig: Path, tmp_path: Path) -> Release:
    for name, text in CHART.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Release(kubeconfig, "shop", tmp_path / "shop")


def test_a_chart_is_installed_upgraded_rolled_back_and_uninstalled(shop: Release) -> None:
    shop.install()
    assert _ready(shop) == {"nginx:1.27": 2}
    shop.upgrade("replicas=3", "image=nginx:1.28")
    assert _ready(shop) == {"nginx:1.28": 3}
    shop.helm("rollback", "1")
    assert _ready(shop) == {"nginx:1.27": 2}
    assert [each["status"] for each in json.loads(shop.helm("history", "-o", "json"))] == [
        "superseded",
        "superseded",
        "deployed",
    ]
    shop.helm("uninstall")
    assert shop.get("deployments,services,jobs,pods,carts.shop.example") == []


def _ready(release: Release) -> dict[str, int]:
    """Ready pods of the Deployments by image."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["status"]["readyReplicas"]
        for each in release.get("deployments")
    }


def test_the_chart_of_stretto_runs_its_pods(kubeconfig: Path) -> None:
    release = Release(kubeconfig, "stretto-system", ROOT / "deploy" / "helm" / "stretto")
    release.install("replicas=2")
    assert list(_ready(release).values()) == [2]
    release.upgrade("replicas=1")
    assert list(_ready(release).values()) == [1]
    release.helm("uninstall")
    assert release.get("deployments,pods,configmaps") == [
        each for each in release.get("configmaps") if each["metadata"]["name"].startswith("kube-")
    ]
