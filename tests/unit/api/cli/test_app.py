"""The command line: exit codes, messages with file and line, JSON that parses, and help that loads nothing heavy."""

from __future__ import annotations

import contextlib
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from podium.api.cli import app
from podium.api.cli.terminal import terminal_output
from podium.api.cli.terminal.lazy_groups import CommandSource, LazyCommand
from podium.api.client import service_for_command
from podium.api.client.client import Client
from podium.api.client.sweep_responses import SweepInfo
from podium.api.serve import startup
from podium.sweep.lifecycle.database_changes import ArtifactSaved, SweepWarned
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.running_sweep_warnings import WarningCode
from podium.sweep.values.slot_events import Saved
from podium.sweep.values.states import SweepState
from tests.commands import Podium
from tests.service_rig import AT, ServiceRig
from tests.specs import builtin_document

GOOD = """\
name: small
method: random
metric: {name: val_accuracy, goal: maximize}
parameters:
  lr: {min: 1e-4, max: 0.1, log: true}
run_cap: 2
program:
  model: mlp
  data: {name: digits}
"""
COMMANDS = [
    ("status",), ("devices",), ("sweep", "list"), ("sweep", "show", "1"), ("sweep", "cancel", "1"),
    ("sweep", "pause", "1"), ("sweep", "resume", "1"), ("sweep", "stop", "1"), ("sweep", "watch", "1"),
    ("sweep", "extend", "1", "--by", "2"), ("trial", "list", "1"), ("trial", "show", "1"), ("trial", "logs", "1"),
    ("trial", "stop", "1"), ("trial", "retry", "1"), ("trial", "clone", "1"), ("devices", "drain", "cpu-0"),
    ("node", "list"), ("node", "drain", "b"), ("node", "return", "b"), ("node", "remove", "b"),
    ("trial", "note", "1", "odd"), ("trial", "tag", "1", "--add", "keep"),
    ("devices", "return", "cpu-0"), ("sweep", "export", "1", "--to", "x.csv"), ("sweep", "import", "x.db"),
]  # fmt: skip


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A valid sweep file."""
    file = tmp_path / "sweep.yaml"
    file.write_text(GOOD)
    return file


class FollowedClient(Client):
    """A client of the API in this process; `follow` is called before each request for a sweep."""

    def __init__(self, service: ServiceRig, follow: Callable[[int], None] = lambda _: None) -> None:
        super().__init__("http://testserver", "token", http=service.client())
        self.refresh_s = 0
        self._follow = follow

    def sweep(self, sweep_id: int) -> SweepInfo:
        self._follow(sweep_id)
        return super().sweep(sweep_id)


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that every command finds, with a sweep of one finished and one running trial."""
    service.device()
    sweep_id = service.sweep()
    service.trial(sweep_id, 0, 0.875, params={"lr": 0.01}, log="epoch 1\n")
    service.trial(sweep_id, 1, None)
    service.data.service_file.write_text('{"parts": [{"name":"api","state":"ready","pid":1,"restarts":0}]}')
    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(service))
    return service


BAD_FILES: dict[str, tuple[str, str]] = {
    "an unknown key": (GOOD + "run_kap: 3\n", "sweep.yaml:10: run_kap: unknown key 'run_kap'; did you mean 'run_cap'?"),
    "min above max": (
        GOOD.replace("1e-4", "7.0"),
        "sweep.yaml:5: parameters.lr.min: min (7) must not exceed max (0.1)",
    ),
    "no metric": (GOOD.replace("metric:", "metrik:"), "sweep.yaml: metric: is required"),
    "not YAML": (GOOD + "x: [1\n", "sweep.yaml:"),
    "an empty file": ("", "sweep.yaml: the file is empty"),
    "a list": ("[1]", "sweep.yaml: a sweep file must be a mapping"),
    "not text": ("\udcff", "not UTF-8 text (byte 0)"),
    "an imported sweep": (
        GOOD.partition("program:")[0] + f"program: {{imported: a study, sha256: {'a' * 64}}}\n",
        "sweep.yaml:7: program.imported: imported sweeps cannot run",
    ),
}


@pytest.mark.parametrize("command", ["validate", "submit", "run"])
@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_invalid_file_exits_2_with_its_line_and_starts_nothing(
    podium: Podium, tmp_path: Path, content: str, words: str, command: str
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_bytes(content.encode(errors="surrogateescape"))
    where = () if command == "validate" else ("--data-dir", tmp_path / "data")
    code, out, err = podium("sweep", command, file, *where)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.yaml"]


def test_missing_file_exits_2(podium: Podium, tmp_path: Path) -> None:
    code, _, err = podium("sweep", "run", tmp_path / "no.yaml", "--data-dir", tmp_path / "data")
    assert (code, "no.yaml" in err) == (2, True)
    assert not (tmp_path / "data").exists()


def test_problem_found_by_the_server_has_its_line(podium: Podium, good: Path, served: ServiceRig) -> None:
    good.write_text(GOOD.replace("{name: digits}", "{name: mnist, root: /nowhere}"))
    code, _, err = podium("sweep", "submit", good)
    assert (code, err) == (2, f"{good}:9: program.data.root: folder /nowhere does not exist\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_without_a_service_exits_4_and_says_how_to_start_one(
    podium: Podium, tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, out, err = podium(*command, "--data-dir", tmp_path / "data")
    assert (code, out) == (4, "")
    assert (
        err == f"no service runs on {tmp_path / 'data'}; start one with `podium serve --data-dir {tmp_path / 'data'}`\n"
    )


def test_submit_without_a_service_exits_4(podium: Podium, good: Path, tmp_path: Path) -> None:
    assert podium("sweep", "submit", good, "--data-dir", tmp_path / "data")[0] == 4


@pytest.mark.parametrize("command", [("serve",), ("demo",), ("sweep", "run")], ids=" ".join)
def test_unusable_data_directory_exits_3(podium: Podium, good: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    file = (good,) if command == ("sweep", "run") else ()
    code, _, err = podium(*command, *file, "--data-dir", tmp_path / "file" / "data", "--devices", "cpu:1")
    assert code == 3, err
    assert str(tmp_path / "file" / "data") in err
    assert "choose another with --data-dir" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nothing",), 2, "No such command"),
        (("sweep", "show", "one"), 2, "integer"),
        (("trial", "list", "1", "--state", "gone"), 2, "waiting"),
        (("sweep", "validate"), 2, "Missing argument"),
        (("serve", "--port", "70000"), 2, "65535"),
        (("serve", "--gateways", "0"), 2, "greater than or equal to 1"),
        (("serve", "--gateways", "65"), 2, "less than or equal to 64"),
        (("serve", "--host", "0.0.0.0"), 2, "must not be sent unencrypted"),
        (("serve", "--devices", "tpu"), 2, "must be auto, gpu, cpu, cpu:N or pretend-gpu:N"),
    ],
    ids=str,
)
def test_invalid_arguments_are_explained(podium: Podium, arguments: tuple[str, ...], code: int, words: str) -> None:
    found, _, err = podium(*arguments)
    assert found == code
    assert words in err


@pytest.mark.parametrize("command", [("sweep", "show", "9"), ("trial", "show", "9"), ("trial", "list", "9")])
def test_unknown_id_exits_1(podium: Podium, served: ServiceRig, command: tuple[str, ...]) -> None:
    code, out, err = podium(*command)
    assert (code, out) == (1, "")
    assert err.startswith("there is no ")


JSON_COMMANDS: dict[tuple[str, ...], Callable[[Any], object]] = {
    ("status",): lambda found: found["ready"] is True and found["parts"][0]["pid"] == 1,
    ("devices",): lambda found: [device["id"] for device in found] == ["cpu-0"],
    ("sweep", "list", "--state", "running"): lambda found: found == [],
    ("sweep", "list", "--limit", "1"): lambda found: len(found) == 1,
    ("sweep", "list"): lambda found: [sweep["name"] for sweep in found] == ["small"],
    ("sweep", "show", "1"): lambda found: found["top"][0]["value"] == 0.875,
    ("trial", "list", "1"): lambda found: [trial["number"] for trial in found] == [0, 1],
    ("trial", "list", "1", "--state", "running"): lambda found: [trial["number"] for trial in found] == [1],
    ("trial", "list", "1", "--sort", "-number", "--limit", "1"): lambda found: [t["number"] for t in found] == [1],
    ("trial", "list", "1", "--sort", "value"): lambda found: [trial["value"] for trial in found] == [0.875, None],
    ("sweep", "pause", "1"): lambda found: [sweep["state"] for sweep in found] == ["paused"],
    ("sweep", "cancel", "1"): lambda found: [sweep["state"] for sweep in found] == ["cancelled"],
    ("sweep", "extend", "1", "--by", "2"): lambda found: found["run_cap"] == 6,
    ("trial", "stop", "2"): lambda found: [trial["requested"] for trial in found] == ["stop"],
    ("trial", "clone", "1", "--set", "lr=0.05"): lambda found: found["params"] == {"lr": 0.05},
    ("devices", "drain", "cpu-0"): lambda found: [device["state"] for device in found] == ["drained"],
    ("trial", "show", "1"): lambda found: found["attempts"][0]["device"] == "cpu-0",
}


@pytest.mark.parametrize(("command", "holds"), JSON_COMMANDS.items(), ids=[" ".join(c) for c in JSON_COMMANDS])
def test_json_is_one_document_on_standard_output(
    podium: Podium, served: ServiceRig, command: tuple[str, ...], holds: Callable[[Any], object]
) -> None:
    code, out, err = podium(*command, "--json")
    assert (code, err) == (0, "")
    assert holds(json.loads(out))


def test_failed_trial_shows_its_traceback(podium: Podium, served: ServiceRig) -> None:
    trial_id = served.trial(1, 2, None, cause=Cause.USER_ERROR)
    assert "Traceback …\nit broke\n" in podium("trial", "show", str(trial_id))[1]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("status",), ["ready", "api", "1"]),
        (("devices",), ["cpu-0", "busy"]),
        (("sweep", "list"), ["small", "queued", "0.875"]),
        (("sweep", "show", "1"), ["sweep 1 'small': queued", "1 finished, 1 running", "best val_accuracy 0.875"]),
        (("trial", "list", "1"), ["finished", "running", "lr=0.01"]),
        (("trial", "show", "1"), ["trial 0 of sweep 1 (id 1): finished, value 0.875", "sampler: random\n", "cpu-0"]),
        (("trial", "show", "1"), ["model.safetensors: 1,000 bytes"]),
        (("trial", "logs", "1"), ["epoch 1\n"]),
        (("trial", "logs", "1", "--follow"), ["epoch 1\n"]),
        (("trial", "logs", "1", "--attempt", "1"), ["epoch 1\n"]),
        (("sweep", "cancel", "1"), ["sweep 1 is cancelled\n"]),
        (("sweep", "pause", "1"), ["sweep 1 is paused\n"]),
        (("sweep", "resume", "1"), ["sweep 1 is queued\n"]),
        (("sweep", "stop", "1"), ["sweep 1 is stopping\n"]),
        (("sweep", "extend", "1", "--by", "2"), ["sweep 1 is queued: up to 6 trials, priority 1\n"]),
        (("sweep", "extend", "1", "--run-cap", "9"), ["up to 9 trials"]),
        (("sweep", "extend", "1", "--priority", "0.5"), ["up to 4 trials, priority 0.5"]),
        (
            ("sweep", "extend", "1", "--device-s", "9000", "--plateau", "7", "--target", "0.9"),
            [
                "up to 4 trials, priority 1; device_s ",
                " of 9,000 s, 0 of 7 trials without improvement, target 0.9 not reached",
            ],
        ),
        (("trial", "stop", "2"), ["trial 2 is running, being stopped\n"]),
        (("trial", "retry", "2"), ["trial 2 is running\n"]),
        (("trial", "clone", "1"), ["cloned trial 1 into sweep 1: lr=0.01\n"]),
        (("trial", "clone", "1", "--set", "lr=5e-2"), ["lr=0.05"]),
        (("devices", "drain", "cpu-0"), ["cpu-0 is drained; trial 2 is running on it\n"]),
        (("devices", "return", "cpu-0"), ["cpu-0 is busy; trial 2 is running on it\n"]),
    ],
    ids=str,
)
def test_output_has_the_expected_content(
    podium: Podium, served: ServiceRig, command: tuple[str, ...], words: list[str]
) -> None:
    code, out, err = podium(*command)
    assert (code, err) == (0, "")
    for word in words:
        assert word in out


def test_several_sweeps_are_changed_one_by_one_and_refusals_are_reported(podium: Podium, served: ServiceRig) -> None:
    finished, third = served.sweep(), served.sweep()
    served.end_sweep(finished)
    code, out, err = podium("sweep", "pause", "1", finished, "9", third)
    assert (code, out) == (1, "sweep 1 is paused\nsweep 3 is paused\n")
    assert err.splitlines() == [
        "a finished sweep cannot be paused; possible: extend, trial retry, trial clone",
        "there is no sweep 9",
    ]
    code, out, err = podium("sweep", "stop", finished, "1", "--json")
    assert (code, [sweep["id"] for sweep in json.loads(out)]) == (1, [1])
    assert "a finished sweep cannot be stopped" in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("trial", "retry", "1"), "a finished trial cannot be retried; possible: clone"),
        (("trial", "logs", "1", "--attempt", "2"), "attempt 2 of trial 1 has no output yet"),
        (("sweep", "extend", "1", "--run-cap", "1"), "run_cap is 4 and can only go up"),
        (("devices", "drain", "gpu-7"), "there is no device 'gpu-7'; known: cpu-0"),
    ],
    ids=str,
)
def test_refused_command_exits_1_with_the_reason(
    podium: Podium, served: ServiceRig, command: tuple[str, ...], words: str
) -> None:
    code, out, err = podium(*command)
    assert (code, out) == (1, "")
    assert words in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("trial", "clone", "1", "--set", "lrr=0.1"), "params.lrr: unknown parameter 'lrr'; did you mean 'lr'?"),
        (("trial", "clone", "1", "--set", "lr=fast"), "params.lr: must be a number, got 'fast'"),
        (("trial", "clone", "1", "--set", "lr=NaN"), "params.lr: must be a number, got 'NaN'"),
        (("trial", "clone", "1", "--set", "lr=1e999"), "params.lr: must be a number, got '1e999'"),
        (
            ("trial", "show", "0"),
            "trial id must be a positive integer; the column id of `podium trial list` shows the ids\n",
        ),
        (("sweep", "show", "0"), "sweep id must be a positive integer; `podium sweep list` shows the ids\n"),
        (("trial", "clone", "1", "--set", "lr"), "write NAME=VALUE, not 'lr'"),
        (("sweep", "extend", "1"), "give one of --run-cap and --by, --priority, or a budget option"),
        (("sweep", "extend", "1", "--by", "1", "--run-cap", "9"), "give one of --run-cap and --by"),
        (("sweep", "extend", "1", "--priority", "1000"), "priority"),
        (("sweep", "pause"), "Missing argument"),
        (("trial", "logs", "1", "--follow", "--attempt", "1"), "--follow prints the last attempt; omit --attempt"),
        (("devices", "--data-dir", "/other", "drain", "cpu-0"), "after the command: podium devices drain"),
        (("devices", "--json", "return", "cpu-0"), "--json"),
    ],
    ids=str,
)
def test_invalid_command_exits_2(podium: Podium, served: ServiceRig, command: tuple[str, ...], words: str) -> None:
    code, out, err = podium(*command)
    assert (code, out) == (2, "")
    assert words in err


def test_login_prints_only_a_link_on_standard_output(podium: Podium, served: ServiceRig) -> None:
    code, out, err = podium("login")
    assert (code, out.startswith("http://127.0.0.1:8300/login#"), len(out.splitlines())) == (0, True, 1)
    assert "once, for 10 minutes" in err
    assert set(json.loads(podium("login", "--json")[1])) == {"url", "expires_at"}


def test_drained_device_is_listed_with_its_reason(podium: Podium, served: ServiceRig) -> None:
    podium("devices", "drain", "cpu-0", "--reason", "a new card comes")
    code, out, _ = podium("devices")
    assert code == 0
    assert "drained" in out and "a new card comes" in out


@pytest.mark.parametrize("command", [("list",), ("show", 1)])
def test_sweeps_are_shown_with_their_warnings(podium: Podium, served: ServiceRig, command: tuple[str, ...]) -> None:
    served.commit(SweepWarned(1, WarningCode.IDENTICAL_RESULTS, "all report the same\x1b[31m", AT))
    code, out, _ = podium("sweep", *command)
    assert code == 0
    assert "warning: all report the same\\x1b[31m" in out


@pytest.mark.parametrize(("state", "code"), [(SweepState.FINISHED, 0), (SweepState.FAILED, 1)])
@pytest.mark.parametrize("as_json", [False, True])
def test_watch_ends_with_the_sweep(
    podium: Podium, service: ServiceRig, monkeypatch: pytest.MonkeyPatch, state: SweepState, code: int, as_json: bool
) -> None:
    sweep_id = service.sweep()
    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(service, lambda _: service.end_sweep(sweep_id, state)))
    found, out, err = podium("sweep", "watch", sweep_id, *(["--json"] if as_json else []))
    assert (found, err) == (code, "")
    assert (json.loads(out)["state"] if as_json else out.splitlines()[-1].split(":")[0]) == state.value


def test_watch_of_several_sweeps_ends_when_all_are_terminal(
    podium: Podium, service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = service.sweep(), service.sweep()
    states = {first: SweepState.FINISHED, second: SweepState.CANCELLED}
    follow = FollowedClient(service, lambda one: service.end_sweep(one, states[one]))
    monkeypatch.setattr(Client, "of", lambda _: follow)
    code, out, _ = podium("sweep", "watch", first, second)
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()[-2:]] == ["sweep 1 finished", "sweep 2 cancelled"]


def test_ctrl_c_ends_the_watch_and_not_the_sweep(
    podium: Podium, service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    sweep_id = service.sweep()
    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(service, interrupt))
    code, _, err = podium("sweep", "watch", sweep_id)
    assert code == 130
    assert err == "sweep 1 continues; `podium sweep watch 1` to follow again, `podium sweep cancel 1` to cancel\n"
    assert service.client().get(f"/api/v1/sweeps/{sweep_id}").json()["state"] == "queued"


def test_watch_of_a_paused_sweep_shows_its_state(
    podium: Podium, service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_id = service.sweep()
    service.client().post(f"/api/v1/sweeps/{sweep_id}/pause")
    looks = iter(range(3))

    def cancel_later(_: int) -> None:
        if next(looks) == 1:
            service.client().post(f"/api/v1/sweeps/{sweep_id}/cancel")

    monkeypatch.setattr(Client, "of", lambda _: FollowedClient(service, cancel_later))
    assert "paused: paused on request" in podium("sweep", "watch", sweep_id)[1].splitlines()[0]


def test_status_of_a_service_that_is_not_ready_exits_1(podium: Podium, served: ServiceRig) -> None:
    served.data.service_file.write_text('{"parts": [{"name":"api","state":"starting","pid":1,"restarts":2}]}')
    code, out, _ = podium("status")
    assert (code, "not ready" in out) == (1, True)


def test_submit_returns_immediately(podium: Podium, good: Path, served: ServiceRig) -> None:
    code, out, _ = podium("sweep", "submit", good, "--json")
    assert (code, json.loads(out)["state"]) == (0, "queued")
    assert "sweep 3 'small' is queued" in podium("sweep", "submit", good)[1]


# `podium sweep run`, with a service that ends the sweep when the test asks for it.


@pytest.fixture
def run_on(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
    def use(follow: Callable[[int], None]) -> None:
        @contextlib.contextmanager
        def opened(*_: object) -> Iterator[Client]:
            with FollowedClient(service, follow) as client:
                yield client

        monkeypatch.setattr(service_for_command, "service", opened)

    return use


@pytest.mark.parametrize(("state", "code"), [(SweepState.FINISHED, 0), (SweepState.FAILED, 1)])
@pytest.mark.parametrize("as_json", [False, True])
def test_run_ends_with_its_sweep(
    podium: Podium, service: ServiceRig, good: Path, run_on: Any, state: SweepState, code: int, as_json: bool
) -> None:
    def end(sweep_id: int) -> None:
        service.trial(sweep_id, 0, 0.75)
        service.end_sweep(sweep_id, state)

    run_on(end)
    found, out, err = podium("sweep", "run", good, *(["--json"] if as_json else []))
    assert (found, err) == (code, "")
    if as_json:
        assert (json.loads(out)["state"], json.loads(out)["top"][0]["value"]) == (state.value, 0.75)
    else:
        assert f"{state.value}: over (1 finished)" in out


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_cancels_the_run_and_exits_130(
    podium: Podium, service: ServiceRig, good: Path, run_on: Any, as_json: bool
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    run_on(interrupt)
    assert podium("sweep", "run", good, *(["--json"] if as_json else []))[0] == 130
    assert service.client().get("/api/v1/sweeps/1").json()["state"] == "cancelled"


def test_code_folder_is_relative_to_the_sweep_file(
    podium: Podium, tmp_path: Path, served: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "project" / "code"
    code.mkdir(parents=True)
    (code / "train.py").write_text("def objective(trial): ...")
    program = {"function": "train:objective", "code": "code"}
    file = tmp_path / "project" / "sweep.json"
    file.write_text(json.dumps(builtin_document(program=program)))
    monkeypatch.chdir("/")
    status, out, err = podium("sweep", "submit", file, "--json")
    assert status == 0, err
    assert (served.data.bundle(json.loads(out)["spec"]["program"]["bundle"]) / "train.py").exists()


# Help.

HEAVY = ("torch", "ray", "optuna", "sqlalchemy", "fastapi", "numpy", "httpx2", "rich", "ruamel", "pydantic")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("sweep", "--help"),
        ("sweep", "run", "--help"),
        ("sweep", "export", "--help"),
        ("trial", "list", "--help"),
        ("ensemble", "build", "--help"),
        ("devices", "--help"),
        ("no",),
    ],
    ids=" ".join,
)
def test_help_imports_no_heavy_package(arguments: tuple[str, ...]) -> None:
    script = (
        "import sys\nfrom podium.api.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_version_names_what_must_be_equal_on_all_machines(podium: Podium) -> None:
    found = [version("podium"), version("ray"), platform.python_version()]
    assert podium("--version") == (0, "podium {}, ray {}, python {}\n".format(*found), "")


def test_help_names_every_command_and_exit_code(podium: Podium) -> None:
    code, out, _ = podium("--help")
    assert code == 0
    for word in ("demo", "serve", "status", "devices", "sweep", "trial", "130 interrupted"):
        assert word in out


@pytest.mark.parametrize(("name", "source"), app.COMMANDS.items(), ids=app.COMMANDS)
def test_help_of_a_lazy_command_equals_that_of_the_loaded_command(name: str, source: CommandSource) -> None:
    short = LazyCommand(name, source).get_short_help_str(200)
    assert short == LazyCommand(name, source).load().get_short_help_str(200)


def test_listing_the_commands_imports_none() -> None:
    script = (
        "import sys\nfrom podium.api.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded', [name for name in sys.modules if name.startswith('podium.api.cli.commands')])"
    )
    done = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"


@pytest.mark.parametrize("group", [(), ("sweep",), ("trial",), ("ensemble",), ("devices",), ("db",)], ids=str)
def test_short_help_of_a_command_fits_its_line(
    podium: Podium, monkeypatch: pytest.MonkeyPatch, group: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = podium(*group, "--help")
    assert code == 0
    assert "..." not in out.partition("Commands:")[2]


def _artifact(service: ServiceRig, name: str, content: bytes) -> None:
    """Trial 1 saves an artifact."""
    path = service.attempt(1, 0).artifacts / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    service.commit(ArtifactSaved(Saved(AttemptKey(1, 1), f"artifacts/{name}", sha256_of(path), len(content))))


def test_files_of_a_trial_are_downloaded(podium: Podium, served: ServiceRig, tmp_path: Path) -> None:
    for name in ("plot.png", "table.csv"):
        _artifact(served, name, name.encode())
    one = podium("trial", "download", "1", "plot.png", "--to", tmp_path / "one")
    assert one == (0, f"{tmp_path / 'one' / 'plot.png'}\n", "")
    code, out, _ = podium("trial", "download", "1", "--to", tmp_path / "all")
    assert (code, len(out.splitlines())) == (0, 3)
    assert {path.name for path in (tmp_path / "all").iterdir()} == {"plot.png", "table.csv", "model.safetensors"}
    assert (tmp_path / "all" / "table.csv").read_bytes() == b"table.csv"


def test_missing_file_of_a_trial_is_named_with_the_available_ones(
    podium: Podium, served: ServiceRig, tmp_path: Path
) -> None:
    code, out, err = podium("trial", "download", "1", "plot.svg", "--to", tmp_path / "x")
    assert (code, out) == (1, "")
    assert "trial 1 has no file 'plot.svg'; available: model.safetensors" in err
    assert not (tmp_path / "x").exists()


def test_untrusted_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = terminal_output.table(None, ("reason",), [("the data is\nnot there \x1b[31mred [bold]x[/]",)])
    terminal_output.console.print(table)
    terminal_output.console.print("sweep 'a\x1b[2J[red]b'")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "the data is not there \\x1b[31mred [bold]x[/]" in printed
    assert "sweep 'a\\x1b[2J[red]b'" in printed


@pytest.mark.parametrize("interactive", [True, False])
def test_serve_prints_at_once_what_it_starts(
    podium: Podium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interactive: bool
) -> None:
    monkeypatch.setattr(startup, "serve", lambda settings, say: say(f"up in {settings.data_dir}"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: interactive)
    code, out, err = podium("serve", "--data-dir", str(tmp_path / "data"), "--devices", "cpu:3")
    *first, last = err.splitlines()
    assert (code, out, last) == (0, "", f"up in {tmp_path / 'data'}")
    where = f"Starting Podium (data in {tmp_path / 'data'}, devices: cpu:3); prints a login link when it is ready"
    assert first == ([where] if interactive else [])
