"""No secret leaks: secrets are planted, the whole service is used, and every other place is searched for them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import shutil
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from tests.running_service import RunningService, function_sweep, podium, wait_for
from tests.specs import builtin_document

LOOKING = Path(__file__).parent / "looking"
SHOWN_ONCE = "the admin's token"  # `podium serve` prints it when it makes it
VIEWER = "a viewer's token"
DECOY = "somebody's setting"  # in the environment of `serve`, which trials inherit: it must be found there


@dataclass
class Scene:
    """A used service, its secrets, and its responses."""

    service: RunningService
    secrets: dict[str, str]
    answers: list[tuple[str, bytes]] = field(default_factory=list)  # by request, headers included
    printed: list[tuple[str, bytes]] = field(default_factory=list)  # by command

    @property
    def gateway(self) -> str:
        """Where the gateway answers."""
        url: str = json.loads(self.service.data.service_file.read_text())["gateway_url"]
        return url

    def found_in(self, places: Iterable[tuple[str, bytes]], *, but: str = "") -> list[str]:
        """Each secret found in these places, except the allowed one."""
        needles = {name: value.encode() for name, value in self.secrets.items() if name != but}
        return [
            f"{name} in {where}" for where, content in places for name, value in needles.items() if value in content
        ]

    def ask(self, method: str, path: str, token: str = SHOWN_ONCE, **more: Any) -> httpx2.Response:
        """Send a request with a token and record the response."""
        headers = {"Authorization": f"Bearer {self.secrets[token]}"}
        answer = httpx2.request(method, self.service.client.url + path, headers=headers, timeout=60, **more)
        self.answers.append(
            (f"{method} {path} -> {answer.status_code}", repr(answer.headers.raw).encode() + answer.content)
        )
        return answer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A service on which everything was used once and which still runs."""
    folder = tmp_path_factory.mktemp("secrets")
    decoy = secrets.token_urlsafe(32)
    with RunningService(folder / "data", environment={"SETTING_OF_SOMEBODY": decoy}) as service:
        files = {SHOWN_ONCE: service.data.admin_token, "Ray's token": service.data.ray_token}
        made = Scene(service, {name: path.read_text().strip() for name, path in files.items()})
        with _watching(made):
            _let_people_in(made)
            _be_careless(made)
            _train(made, folder, decoy)
            _predict(made)
            _look_at_everything(made)
            _use_the_command_line(made, folder)
        yield made


def _let_people_in(scene: Scene) -> None:
    """Create tokens, sessions and login links of each kind, expired ones included."""
    client = scene.service.client
    for name, role in (
        ("a viewer's token", "viewer"),
        ("a submitter's token", "submitter"),
        ("a revoked token", "viewer"),
    ):
        scene.secrets[name] = client.create_token(name.replace(" ", "-").replace("'", ""), role)["token"]
    client.revoke_token("a-revoked-token")
    for name in ("a session", "an expired session"):
        code = scene.secrets[f"the code of {name}"] = _code(scene)
        answer = httpx2.post(f"{client.url}/api/v1/session", json={"code": code})
        scene.secrets[name] = next(iter(answer.cookies.values()))
        scene.answers.append(("logging in", answer.content))
    over = dict(answer.cookies)
    assert httpx2.delete(f"{client.url}/api/v1/session", cookies=over).status_code == 204
    scene.secrets["a code that nobody has used"] = _code(scene)


def _code(scene: Scene) -> str:
    url: str = scene.service.client.login_link()["url"]
    return url.rpartition("#")[2]


def _be_careless(scene: Scene) -> None:
    """Send secrets in URLs, bodies and headers of requests that are refused."""
    for name in (VIEWER, "a session", "a revoked token", "a code that nobody has used"):
        secret = scene.secrets[name]
        scene.ask("GET", f"/api/v1/sweeps?token={secret}&limit=nonsense")
        scene.ask("GET", f"/api/v1/sweeps/{secret}")
        scene.ask("GET", f"/login?code={secret}")
        scene.ask("GET", f"/assets/{secret}.js")
        scene.ask("POST", "/api/v1/session", json={"token": secret, "code": secret})
        scene.ask("POST", "/api/v1/session", json={"token": {"nested": secret}})
        scene.ask("POST", "/api/v1/sweeps", content=f'{{"name": "{secret}'.encode())
        scene.ask("GET", "/api/v1/sweeps", token="a revoked token")
        httpx2.get(f"{scene.service.client.url}/api/v1/sweeps", headers={"Host": secret})
        # The response names the unknown model; only the logs matter here.
        httpx2.get(f"{scene.gateway}/v2/models/{secret}", headers={"Authorization": f"Bearer {scene.secrets[VIEWER]}"})


def _train(scene: Scene, folder: Path, decoy: str) -> None:
    """Run trials that search for secrets, one that fails, and networks for an ensemble."""
    code = folder / "code"
    shutil.copytree(LOOKING, code, ignore=shutil.ignore_patterns("__pycache__"))
    known = {
        hashlib.sha256(value.encode()).hexdigest(): name for name, value in {**scene.secrets, DECOY: decoy}.items()
    }
    (code / "digests.json").write_text(json.dumps(known))
    client = scene.service.client
    for function in ("look:everywhere", "look:and_fails"):
        sweep = client.submit(function_sweep(code, function, run_cap=1))
        client.wait(sweep["id"], 120)
    sweep = client.submit(builtin_document(run_cap=2, parameters={"epochs": {"value": 1}}))
    assert client.wait(sweep["id"], 120)["state"] == "finished"


def _predict(scene: Scene) -> None:
    client = scene.service.client
    built = client.build_ensemble(sweep_id=3, k=2, name="digits")
    client.wait_ensemble(built["id"], 120)
    row = [[0.0] * 64]
    answer = httpx2.post(
        f"{scene.gateway}/api/v1/ensembles/1/predict",
        json={"inputs": row},
        headers={"Authorization": f"Bearer {scene.secrets[VIEWER]}"},
    )
    assert answer.status_code == 200, answer.text
    scene.answers.append(("predict", answer.content))


def _look_at_everything(scene: Scene) -> None:
    """Request every page and every route with a response."""
    for path, operations in scene.ask("GET", "/openapi.json").json()["paths"].items():
        if "get" in operations and path != "/api/v1/events":
            scene.ask("GET", re.sub(r"\{[^}]+\}", "1", path))
    for path in ("/", "/login", "/sweeps/1"):
        scene.ask("GET", path)


def _use_the_command_line(scene: Scene, folder: Path) -> None:
    for command in (
        "status",
        "devices",
        "token list",
        "sweep show 1",
        "trial show 2",
        "trial logs 2",
        "doctor",
        "db backup",
    ):
        done = podium(*command.split(), "--data-dir", str(scene.service.data.root))
        scene.printed.append((command, (done.stdout + done.stderr).encode()))


@contextlib.contextmanager
def _watching(scene: Scene) -> Iterator[None]:
    """Read the event stream from start to end."""
    heard: list[bytes] = []
    address = f"{scene.service.client.url}/api/v1/events?sweep=1&trial=1&ensemble=1"
    headers = {"Authorization": f"Bearer {scene.secrets[SHOWN_ONCE]}"}
    with httpx2.stream("GET", address, headers=headers, timeout=60) as stream:

        def listen() -> None:
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                heard.extend(stream.iter_bytes())

        threading.Thread(target=listen, daemon=True).start()
        yield
    assert heard
    scene.answers.append(("the stream of events", b"".join(heard)))


def _files(*folders: Path) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                with contextlib.suppress(FileNotFoundError):
                    yield str(path), path.read_bytes()


def test_trial_finds_no_secret_except_its_own_setting(scene: Scene) -> None:
    """It has read its memory, environment, files, files named in its environment, and all command lines."""
    log = scene.service.client.log(1)
    found = {line.removeprefix("FOUND ") for line in log.splitlines() if line.startswith("FOUND")}
    assert f"{DECOY} in the environment" in found, log[-2000:]
    assert [line for line in found if not line.startswith(DECOY)] == []
    environment = next(line for line in log.splitlines() if line.startswith("environment:"))
    assert "RAY_AUTH_" not in environment
    assert "PODIUM_" not in environment


def test_no_response_contains_secret(scene: Scene) -> None:
    """Not even responses to requests that contained one."""
    assert len(scene.answers) > 60
    assert scene.found_in(scene.answers) == []


def test_no_stored_file_contains_secret(scene: Scene) -> None:
    """Database, backup, logs of components, Ray and trials, code and files of trials, except the two token files."""
    data = scene.service.data
    kept = [
        (path, content)
        for path, content in _files(data.root, RuntimeDirectory.of(data).root)
        if Path(path) not in (data.admin_token, data.ray_token)
    ]
    names = {Path(path).name for path, _ in kept}
    assert {"podium.sqlite3", "podium.sqlite3-wal", "api.log", "gateway.log", "raylet.out", "log"} <= names
    assert any(Path(path).is_relative_to(data.backups) for path, _ in kept)
    assert scene.found_in(kept) == []


def test_command_line_prints_no_secret(scene: Scene) -> None:
    assert scene.found_in(scene.printed) == []
    said = scene.service.data.root.with_name("data.log").read_bytes()
    assert said.count(scene.secrets[SHOWN_ONCE].encode()) == 1
    assert scene.found_in([("what `podium serve` said", said)], but=SHOWN_ONCE) == []


def test_no_process_exposes_secret(scene: Scene) -> None:
    """In command lines or environments of any process: components, Ray, slots, members, the test itself."""
    service = psutil.Process(scene.service.process.pid)
    shown = [
        (process.name(), "\0".join([*process.cmdline(), *process.environ().values()]).encode())
        for process in (service, *service.children(recursive=True))
    ]
    assert {"gcs_server", "raylet"} <= {name for name, _ in shown}
    assert wait_for("members are there", lambda: "podium-member" in {name for name, _ in shown})
    assert scene.found_in(shown) == []
