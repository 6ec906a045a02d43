"""Decisions on the answers of searches: trials, pruning decisions and values. Pure; scheduler process."""

from __future__ import annotations

import logging

from podium.sweep.lifecycle.database_changes import (
    Change,
    ParamDefined,
    SearchAttributesChanged,
    TrialPlanned,
)
from podium.sweep.lifecycle.scheduler_inbox_messages import PruneDecision, TrialProposed, ValueSuggested
from podium.sweep.scheduling.active_sweeps import ActiveSweeps
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.suggested_parameter_checks import check_definable
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.search_messages import ENQUEUED_VALUES
from podium.sweep.values.slot_events import SuggestRequested

log = logging.getLogger("podium.scheduler")


def on_trial_proposed(sweeps: ActiveSweeps, message: TrialProposed, now: Instant) -> Decision:
    """The search has proposed a trial, or is exhausted."""
    sweep = sweeps.sender(message)
    if sweep is None:
        return Decision()
    planned = message.planned
    sweep.asks.end(message.took_s, now.monotonic_s, exhausted=planned is None)
    if planned is None:
        return Decision()
    trial = LiveTrial(
        sweeps.new_trial_id(), sweep.sweep_id, planned.number, planned.params,
        by_client=message.enqueued_id is not None, defined=set(planned.distributions),
        enqueued=planned.attributes.get(ENQUEUED_VALUES, {}),
    )  # fmt: skip
    sweeps.add(trial)
    change = TrialPlanned(
        trial.trial_id, sweep.sweep_id, trial.number, trial.params, planned.sampler,
        planned.attributes, now.wall_s, message.enqueued_id, planned.distributions,
        fallback_reason=planned.fallback_reason, fallback_error=planned.fallback_error,
        proposed_for=planned.proposed_for,
    )  # fmt: skip
    return Decision(changes=[change])


def on_prune_decision(sweeps: ActiveSweeps, message: PruneDecision) -> tuple[LiveTrial | None, Decision]:
    """The trial that waits for the decision, if it still waits."""
    if sweeps.sender(message) is None:
        return None, Decision()
    changes: list[Change] = []
    if message.verdict.attributes:  # also when the attempt has ended: a rebuilt search needs them
        changes.append(SearchAttributesChanged(message.key.trial_id, message.verdict.attributes))
    return sweeps.current(message.key), Decision(changes)


def on_value_suggested(sweeps: ActiveSweeps, message: ValueSuggested) -> tuple[LiveTrial | None, Decision]:
    """A value of a parameter that is not in the sweep file; returns the trial that waits for it, if any."""
    trial = sweeps.current(message.request.key)
    if trial is None or sweeps.sender(message) is None:
        return None, Decision()
    wanted = message.request
    if wanted.drawn or wanted.name in trial.fallbacks:  # it continues with its own value
        return None, Decision()
    if message.error:
        return trial, Decision()
    trial.define(wanted.name, message.value)
    decision = _defined(sweeps, trial, wanted, message.value)
    if message.attributes:
        decision.changes.append(SearchAttributesChanged(trial.trial_id, dict(message.attributes)))
    return trial, decision


def on_fallback_value(sweeps: ActiveSweeps, trial: LiveTrial, request: SuggestRequested) -> Decision:
    """A trial sampled a value itself because no answer came in time. Recorded immediately, since the trial may end
    at once.
    """
    try:
        check_definable(sweeps[trial.sweep_id].spec, request, len(trial.params))
    except UserCodeError as error:
        log.warning("dropped a value that trial %d sampled itself: %s", trial.trial_id, error)
        return Decision()
    trial.define_fallback(request.name, request.value)
    return _defined(sweeps, trial, request, request.value)


def _defined(sweeps: ActiveSweeps, trial: LiveTrial, request: SuggestRequested, value: Scalar) -> Decision:
    sweeps[trial.sweep_id].reopen_search()
    return Decision(changes=[ParamDefined(trial.trial_id, request.name, value, request.distribution)])
