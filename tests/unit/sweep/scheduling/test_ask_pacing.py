"""How many trials a sweep requests in advance."""

from __future__ import annotations

from podium.sweep.scheduling.ask_pacing import AskPacing

SLOTS = 1000


def _pacing(trial_s: float) -> AskPacing:
    """It has seen many trials of this duration, and the answer to its first ask."""
    pacing = AskPacing()
    for _ in range(100):
        pacing.record_trial(trial_s)
    pacing.begin(0.0)
    pacing.end(0.0, 0.0, exhausted=False)
    return pacing


def _ask(pacing: AskPacing, took_s: float, lasted_s: float, times: int = 100) -> None:
    for _ in range(times):
        pacing.begin(10.0)
        pacing.end(took_s, 10.0 + lasted_s, exhausted=False)


def test_trials_that_end_while_an_answer_waits_for_the_scheduler_are_requested_ahead() -> None:
    pacing = _pacing(trial_s=1.0)
    _ask(pacing, took_s=0.0, lasted_s=0.0)
    assert pacing.ahead(SLOTS) == 1
    _ask(pacing, took_s=0.0, lasted_s=0.0055)  # 1,000 trials of 1 s: 5.5 end meanwhile
    assert pacing.ahead(SLOTS) == 6
    assert pacing.ahead(1) == 1, "more trials than slots"


def test_fewer_are_requested_ahead_for_longer_trials() -> None:
    pacing = _pacing(trial_s=60.0)
    _ask(pacing, took_s=0.0, lasted_s=0.0055)
    assert pacing.ahead(SLOTS) == 1


def test_time_to_build_the_search_requests_no_trials() -> None:
    pacing = AskPacing()
    for _ in range(16):
        pacing.begin(0.0)
    for _ in range(16):
        pacing.end(0.001, 5.0, exhausted=False)  # Optuna was imported first
    assert pacing.ahead(16) == 1
    assert pacing.pending == 0


def test_answers_end_the_oldest_asks() -> None:
    pacing = _pacing(trial_s=1.0)
    for now_s in range(10, 110):
        pacing.begin(float(now_s))
    for now_s in range(10, 110):
        assert pacing.pending == 110 - now_s
        pacing.end(0.0, now_s + 0.0105, exhausted=False)
    assert pacing.ahead(SLOTS) == 11


def test_a_step_of_seconds_requests_few_trials_ahead() -> None:
    pacing = _pacing(trial_s=1.0)
    _ask(pacing, took_s=0.0, lasted_s=5.0, times=4)  # the database did not answer
    assert pacing.ahead(SLOTS) < SLOTS / 10


def test_slow_search_requests_all_trials_ahead_that_end_meanwhile() -> None:
    pacing = _pacing(trial_s=10.0)
    _ask(pacing, took_s=2.0, lasted_s=2.005)
    assert pacing.ahead(SLOTS) == 201
