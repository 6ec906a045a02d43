"""User programs, valid and invalid: each function is the program of one trial in `test_slot.py`."""

from __future__ import annotations

import ctypes
import logging
import os
import random
import signal
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from podium.sweep.protocol.trial_messages import AttrsReported, encode_from_trial

seen: list[int] = []


def good(trial: Any) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.log({"loss": 1 - x, "gone": float("nan")}, step=0)
    trial.report(x, step=0)
    return float(x)


def says(trial: Any) -> float:
    print("to the log")
    print("errors too", file=sys.stderr)
    os.system("echo children too")
    return 1.0


def describes_streams(trial: Any) -> float:
    logging.getLogger("mine").info("an INFO line")
    logging.getLogger("mine").debug("a DEBUG line")
    print([stream.seekable() for stream in (sys.stdout, sys.stderr)], repr(sys.stdin.read()))
    sys.stdout.write("not flushed")
    return 1.0


def fails(trial: Any) -> float:
    raise ValueError("as planned")


def leaves(trial: Any) -> None:
    os._exit(0)


def leaves_politely(trial: Any) -> None:
    sys.exit(3)


def segfaults(trial: Any) -> None:
    ctypes.string_at(0)


def kills_itself(trial: Any) -> None:
    os.kill(os.getpid(), signal.SIGRTMIN + 1)


def no_memory(trial: Any) -> None:
    raise MemoryError


def reports_nan(trial: Any) -> None:
    trial.report(float("nan"), step=0)


def stops_the_sweep(trial: Any) -> float:
    trial.study.stop()
    time.sleep(2.0)
    return 0.0


def returns_infinity(trial: Any) -> float:
    return float("inf")


def returns_text(trial: Any) -> str:
    return "high"


def returns_nothing(trial: Any) -> None:
    pass


def reports_text(trial: Any) -> None:
    trial.report("high", step=0)


def reports_a_dict(trial: Any) -> None:
    trial.report({"score": 0.5, "accuracy": 0.9}, step=0)


def reports_a_wrong_step(trial: Any) -> None:
    trial.report(1.0, step=-1)


def asks_out_of_bounds(trial: Any) -> None:
    trial.suggest_float("x", 0.5, 1.0)


def asks_for_another_choice(trial: Any) -> None:
    trial.suggest_categorical("act", ["tanh"])


def never_ends(trial: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass


def sleeps(trial: Any) -> None:
    time.sleep(1000)


def finishes_though_asked_to_stop(trial: Any) -> float:
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pause()
    return 0.5


def leaves_a_daemon(trial: Any) -> float:
    """A grandchild in its own session, whose parent has exited."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(1000)
        os._exit(0)
    os.waitpid(child, 0)
    return float(os.read(reading, 16))


def looks_around(trial: Any) -> float:
    Path("a file").write_text("in the working directory")
    made = tempfile.mkdtemp()
    names = [name for name in os.environ if name.startswith(("RAY_", "PODIUM_"))]
    print(repr({"cwd": str(Path.cwd()), "dir": str(trial.dir), "temporary": made, "masked": names}))
    return 1.0


def counts_jobs(trial: Any) -> float:
    import joblib  # as scikit-learn does, for n_jobs=-1

    return float(joblib.effective_n_jobs(-1) + joblib.cpu_count() / 10 + torch.get_num_threads() / 100)


def counts_calls(trial: Any) -> float:
    seen.append(1)
    return float(len(seen))


def draws(trial: Any) -> float:
    return random.random() + float(np.random.random()) + float(torch.rand(()))


def imports_with_its_optimizer(trial: Any) -> float:
    """Return how many modules the first step of an optimizer imports, and print them."""
    before = set(sys.modules)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())
    torch.autograd.backward(model(torch.ones(2, 2)).sum())
    optimizer.step()
    torch.use_deterministic_algorithms(True)  # as the built-in program does
    imported = sorted(set(sys.modules) - before)
    print(imported)
    return float(len(imported))


def multiplies_in_parallel(trial: Any) -> float:
    size = torch.ones(1500, 1500)
    assert float((size @ size)[0, 0]) == 1500
    return float(torch.get_num_threads())


def uses_its_own_db_and_api(trial: Any) -> float:
    import api  # noqa: TID251 - the user's, in the folder of this file
    import db  # noqa: TID251

    return float(db.ANSWER + api.ANSWER)  # type: ignore[attr-defined]


def imports_nothing_of_the_service(trial: Any) -> float:
    heavy = {"api", "db", "ray", "optuna", "sqlalchemy", "fastapi"} & set(sys.modules)
    assert not heavy, heavy
    return 1.0


def gives_up_when_told(trial: Any) -> float:
    for step in range(trial.params.get("steps", 5)):
        trial.report(0.5, step)
        if trial.should_prune():
            raise trial.Pruned
    return 0.5


def saves_a_model(trial: Any) -> float:
    trial.save_model(torch.nn.Linear(2, 1), {"made": "by a test"})
    return 1.0


def _write_to_sockets(content: bytes) -> None:
    """Write to every socket of this process, of which one leads to the slot."""
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as found:
                    found.sendall(content)
        except OSError:
            continue


def talks_nonsense(trial: Any) -> float:
    _write_to_sockets(b'nonsense\n3\n[]\n{"kind": "outcome", "state": "finished", "value": "high"}\n')
    os._exit(0)


def notes_what_is_deep(trial: Any) -> float:
    """Bypasses the trial's own check."""
    value: Any = 1
    for _ in range(600):
        value = [value]
    _write_to_sockets(encode_from_trial(AttrsReported(user_attrs={"deep": value})))
    return 0.5


def on_data(trial: Any) -> float:
    """The number of folds, if the data is as documented."""
    inputs, targets = trial.data.split("train")
    seen_rows = sum(len(x) for x, _ in trial.batches("train", 100, shuffle=True))
    first = next(trial.batches("train", 7))
    assert seen_rows == len(targets) == len(inputs) and np.array_equal(first[1].numpy(), targets[:7])
    pool = {*trial.data.rows["train"].tolist(), *trial.data.rows["validation"].tolist()}
    for train, judged in trial.folds:
        assert {*train.tolist(), *judged.tolist()} == pool
    return float(len(trial.folds))


def imported(trial: Any) -> float:
    """Whether Optuna was imported before the user code."""
    return float("optuna" in sys.modules)


def finds_the_compiler(trial: Any) -> float:
    """Whether torch's compiler was imported before the user code."""
    return float("torch._dynamo" in sys.modules)


def prints_its_priority(trial: Any) -> float:
    print(os.nice(0), *(path.read_text() for path in [Path("/proc/self/autogroup")] if path.exists()))
    return 1.0
