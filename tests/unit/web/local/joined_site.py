"""A cluster that a dashboard joins, with users of different rights."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.parts.dashboards.joined import joined_dashboard
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiSettings
from stretto.web.dashboard.guard import LOCAL, Access
from stretto.web.local.access import ServerAccess, write_kubeconfig
from stretto_lab.conformance.apiserver.served import ServedCluster
from tests.unit.web.local.clusters import node, pod

RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
PODS: Final = "/api/v1/namespaces/default/pods"
USERS: Final = {"token": User("root", "", ("system:masters",)), "ada": User("ada")}
READS: Final = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}


class JoinedSite:
    """A cluster with node n1 and pod web on it, and its dashboard for users."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = ApiSettings(WallClock(), Rng(2), TokenTable(USERS))
        self.cluster = ServedCluster(folder / "root", settings, full=False)
        self.send("POST", "/api/v1/nodes", node("n1"))
        self.send("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": None}})
        self.send("POST", PODS, pod("web", "n1"))

    def send(self, method: str, target: str, body: Any = None) -> Any:
        """The answer to a request of the administrator."""
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"content-type": media, "authorization": "Bearer token"}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.cluster.handle(ApiRequest(method, target, headers, data))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def grant_reading(self) -> None:
        """Let ada read everything."""
        role = "reads"
        self.send("POST", f"{RBAC}/clusterroles", {"metadata": {"name": role}, "rules": [READS]})
        subject = {"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "ClusterRole", "name": role, "apiGroup": subject["apiGroup"]}
        binding = {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]}
        self.send("POST", f"{RBAC}/clusterrolebindings", binding)

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user."""
        path = self.folder / user
        write_kubeconfig(path, ServerAccess(f"http://127.0.0.1:{self.cluster.port}", user))
        return path

    def dashboard(self, user: str, access: Access = LOCAL) -> AbstractContextManager[Starlette]:
        """The dashboard of a user, for the duration of a block."""
        common = CommandContext(Console(quiet=True), 0, False, None)
        return joined_dashboard(common, self.kubeconfig(user), "", access)
