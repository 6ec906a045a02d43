"""The event of the end of an attempt, with its outcome; slot."""

from __future__ import annotations

import signal
import time

from podium.sweep.protocol.fork_server_messages import AttemptExited
from podium.sweep.slots.outcome_classification import attempt_outcome
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, Kill, ReportedOutcome, exit_name, storable
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

LOG_TAIL_BYTES = 4096


def event_of(running: RunningAttempt, exited: AttemptExited, *, out_of_memory: bool) -> Ended:
    """The end of an attempt whose process tree is gone; closes its log.

    Args:
        running: The attempt.
        exited: How its process exited.
        out_of_memory: Whether the kernel's OOM killer was active meanwhile.
    """
    verdict = attempt_outcome(
        running.outcome,
        exited.exit_code,
        running.kill,
        out_of_memory=out_of_memory,
        objectives=0 if running.assignment.rank else len(running.assignment.objectives),
        chosen=running.current_value,
        finish_on_timeout=running.assignment.limits.on_timeout == "finish",
        has_constraints=running.assignment.program.get("constraints") is not None,
    )
    tail = running.log.finish(LOG_TAIL_BYTES if verdict["state"] is TrialState.FAILED else 0)
    return Ended(
        key=running.key,
        started_at=running.forked_at,
        ended_at=time.time(),
        exit=exit_name(exited.exit_code),
        pid=exited.pid,
        orphans_killed=exited.orphans,
        log_tail=storable(tail),
        constraints=running.attrs.constraints,
        user_attrs=running.attrs.user_attrs,
        **verdict,
    )


def needs_checkpoint(running: RunningAttempt, ended: Ended) -> bool:
    """Whether the checkpoints of a trial stay: for its next attempt, for other trials, or because its sweep keeps them.

    Those of a population are removed by the scheduler, which knows what starts from them; those of several ranks with
    rank 0.
    """
    if running.assignment.interval is not None or running.assignment.rank > 0:
        return True
    keeps = running.assignment.keep_checkpoint and ended.state is TrialState.FINISHED
    return keeps or ended.state not in COUNTED_TRIAL_STATES


def without_details(key: AttemptKey, started_at: float, error: Exception) -> Ended:
    """The end of an attempt whose outcome could not be determined."""
    return failed(key, started_at, f"the slot failed to determine the outcome: {type(error).__name__}: {error}")


def failed(key: AttemptKey, started_at: float, message: str) -> Ended:
    """The end of an attempt that failed because of the infrastructure."""
    cause = Cause.INFRASTRUCTURE
    return Ended(key, TrialState.FAILED, started_at, time.time(), cause=cause, message=storable(message[:MAX_MESSAGE]))


def before_start(key: AttemptKey, cause: Cause) -> Ended:
    """The end of an attempt that was stopped before its process started."""
    now = time.time()
    return Ended(key=key, started_at=now, ended_at=now, **attempt_outcome(None, -signal.SIGTERM, Kill(cause)))


def refused(key: AttemptKey, reason: str, cause: Cause, *, interrupted: bool = False) -> Ended:
    """The end of an attempt that could not be started."""
    now = time.time()
    outcome = ReportedOutcome(TrialState.FAILED, cause=cause, message=reason, interrupted=interrupted)
    return Ended(key=key, started_at=now, ended_at=now, **attempt_outcome(outcome, 0, None))
