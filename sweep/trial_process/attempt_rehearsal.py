"""Runs attempts without user code before forks, so that all of them share its memory; process template.

In the first executions, the interpreter and torch specialize the code and fill their caches. Otherwise every attempt
would do so, in memory that is then copied: hundreds of the 1,500 pages that a trial writes.
"""

from __future__ import annotations

import os
import random
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from numpy import random as numpy_random

from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.message_limits import MAX_PACKET_BYTES
from podium.sweep.protocol.trial_messages import AttemptGreeting, encode_to_trial
from podium.sweep.runtime.user_code_import_times import ImportTimes
from podium.sweep.trial_process import constraint_function
from podium.sweep.trial_process.attempt_runner import (
    MEASURED_S,
    check_device,
    load_program,
    open_streams,
    outcome_of,
    seed_generators,
    send_usage,
    set_environment,
    started_event,
    with_unused,
)
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.trial_process.trial_handle import Trial
from podium.sweep.values.attempt_assignment import Assignment

_REHEARSALS = 20  # the interpreter specializes a function after 8 calls
_MODULE = "rehearsed_program"
# A training step on a few numbers, for which torch starts no threads; its first operations fill its caches.
# Where torch is built for an accelerator, a backward pass starts a thread for each device: no fork could follow.
_PROGRAM = """\
from __future__ import annotations

import torch


def objective(trial):
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    loss = torch.nn.functional.cross_entropy(network(torch.zeros(2, 4)), torch.zeros(2, dtype=torch.long))
    if torch.accelerator.current_accelerator() is None:
        loss.backward()
    return float((torch.ones(3) + 1).sum()) + loss.item()
"""


def rehearse() -> None:
    """Run the code of attempts, with a program of its own and without effect. Raises `OSError` if the disk is full."""
    before = tempfile.tempdir
    try:
        with tempfile.TemporaryDirectory(prefix="podium-") as folder, _same_draws():
            _rehearse_in(folder)
    finally:
        tempfile.tempdir = before  # not searched yet: forked processes may have another TMPDIR


@contextmanager
def _same_draws() -> Iterator[None]:
    """Leave the generators of random numbers as they were: other forked processes do not seed them."""
    import torch  # the template imports it after this module

    python, numpy, of_torch = random.getstate(), numpy_random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        numpy_random.set_state(numpy)
        torch.set_rng_state(of_torch)


def _rehearse_in(folder: str) -> None:
    code = Path(folder, "code")
    code.mkdir()
    (code / f"{_MODULE}.py").write_text(_PROGRAM)
    open_streams()
    assignment = Assignment(
        sweep_id=0, trial_id=0, number=0, attempt=1, params={"x": 0.0}, seed=0, metric="value",
        program={"function": f"{_MODULE}:objective"}, split={}, directory=folder, code=str(code), data_cache=folder,
    )  # fmt: skip
    greeting = encode_to_trial(AttemptGreeting(assignment, DeviceView("", None)))
    slot, connection = socket.socketpair()
    with slot, connection:
        for _ in range(_REHEARSALS):
            slot.sendall(greeting)
            channel = Channel(connection)
            received = channel.receive(None)
            assert isinstance(received, AttemptGreeting)
            with _undone(str(code)):
                _rehearse_one(received, channel)
            slot.recv(MAX_PACKET_BYTES)


def _rehearse_one(greeting: AttemptGreeting, channel: Channel) -> None:
    """What `podium.sweep.trial_process.attempt_runner.run` does, except for what cannot be undone."""
    assignment = greeting.assignment
    os.environ["CUDA_VISIBLE_DEVICES"] = greeting.device.visible
    set_environment(assignment, Path(assignment.directory))
    device = check_device(greeting.device, assignment)
    seed_generators(assignment, device)
    imports = ImportTimes(assignment.code)
    with imports.measured():
        program = load_program(assignment)
        constraint_function.load(assignment.program, assignment.code)
    trial = Trial(assignment, channel, device)
    channel.send(started_event(assignment, device, imports))
    outcome = outcome_of(program, trial, assignment)
    trial.report_last()
    send_usage(channel, -MEASURED_S)
    channel.send(replace(with_unused(outcome, trial), late_prune_answers=trial.late_prune_answers))


@contextmanager
def _undone(code: str) -> Iterator[None]:
    """Undo the changes of an attempt to the state of this process."""
    environment, temporary, finders, path = dict(os.environ), tempfile.tempdir, sys.meta_path[:], sys.path[:]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = temporary
        sys.meta_path[:] = finders
        sys.path[:] = path
        sys.path_importer_cache.pop(code, None)
        sys.modules.pop(_MODULE, None)
