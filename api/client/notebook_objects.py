"""Sweeps, trials and ensembles as objects, displayed by notebooks; the user's process.

An object holds the state as of its last request; `refresh()` updates it. pandas and Optuna are loaded on first use.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from podium.api.client import data_frame, sweep_html
from podium.api.client.sweep_html import cell, html_table
from podium.sweep.values.constraints_and_user_attributes import is_infeasible
from podium.sweep.values.errors import ServiceError

if TYPE_CHECKING:
    import pandas

    from podium.api.client.client import Client, EnsembleName, Rows
    from podium.api.client.ensemble_responses import EvaluationInfo, Prediction
    from podium.api.client.optuna_studies import Study
    from podium.api.client.sweep_responses import BestTrialInfo
    from podium.api.client.trial_responses import TrialInfo

TERMINAL = ("finished", "failed", "cancelled")
SHOWN_TRIALS = 5


class Trial:
    """A trial. `data` is the service's answer, with all fields."""

    def __init__(self, client: Client, data: TrialInfo) -> None:
        self._client = client
        self.data: TrialInfo = data

    @property
    def id(self) -> int:
        return self.data["id"]

    @property
    def number(self) -> int:
        return self.data["number"]

    @property
    def state(self) -> str:
        return self.data["state"]

    @property
    def value(self) -> float | None:
        """The objective value; with several objectives, the first."""
        return self.data["value"]

    @property
    def values(self) -> dict[str, float] | None:
        """The values by metric, with several objectives."""
        return self.data["values"]

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.data["params"])

    @property
    def user_attrs(self) -> dict[str, Any]:
        return dict(self.data["user_attrs"])

    def metrics(self) -> dict[str, list[list[float]]]:
        """The reported metrics: [step, value] pairs by name."""
        return self._client.metrics(self.id)

    def log(self) -> str:
        """The end of its output."""
        return self._client.log(self.id)

    def refresh(self) -> Self:
        """Update `data`."""
        self.data = self._client.trial(self.id)
        return self

    def __repr__(self) -> str:
        return f"Trial({self.number}, {self.state}, value={self.value}, params={self.params})"

    def _repr_html_(self) -> str:
        head = f"trial {self.number} of sweep {self.data['sweep_id']}: {self.state}"
        rows = [[name, value] for name, value in self.params.items()]
        return f"<b>{cell(head)}</b>" + html_table(["parameter", "value"], [["value", self.value], *rows])


class Sweep:
    """A sweep. `data` is the service's answer, with all fields."""

    def __init__(self, client: Client, sweep_id: int) -> None:
        """Raises `NotFoundError`."""
        self._client = client
        self.id = sweep_id
        self.refresh()

    @classmethod
    def submit(cls, client: Client, document: dict[str, Any], *, after: Sequence[Sweep | int | str] = ()) -> Self:
        """Submit the content of a sweep file; `after`: sweeps that must finish first. Raises `InvalidSpecError`."""
        earlier = [each.id if isinstance(each, Sweep) else each for each in after]
        return cls(client, client.submit(document, after=earlier)["id"])

    def refresh(self) -> Self:
        """Update `data`."""
        self.data = self._client.sweep(self.id)
        return self

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def state(self) -> str:
        """As of the last `refresh`."""
        return self.data["state"]

    @property
    def spec(self) -> dict[str, Any]:
        return dict(self.data["spec"])

    @property
    def counts(self) -> dict[str, int]:
        """The number of trials by state."""
        return dict(self.data["counts"])

    @property
    def metrics(self) -> list[str]:
        """The names of the objective metrics."""
        return [metric["name"] for metric in self.spec.get("metrics") or [self.spec["metric"]]]

    def wait(self, *, progress: bool = True, timeout_s: float | None = None) -> Self:
        """Wait until the sweep ends; `progress` prints a line whenever a trial ends.

        Raises `ServiceError` after `timeout_s`.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        printed = ""
        while True:
            line = self.refresh()._line()
            if progress and line != printed:
                print(line, file=sys.stderr, flush=True)
                printed = line
            if self.state in TERMINAL:
                return self
            if end is not None and time.monotonic() > end:
                raise ServiceError(f"sweep {self.id} is still {self.state} after {timeout_s:g} s")
            time.sleep(self._client.poll_s)

    def trials(self, state: str | None = None) -> list[Trial]:
        """The trials by number; all, or those in one state."""
        return [Trial(self._client, found) for found in self._client.trials(self.id, state=state)]

    def best(self) -> Trial | None:
        """The best finished trial, or None; with several objectives, the first of the Pareto front."""
        found = next(iter(self._client.best(self.id)), None)
        return None if found is None else Trial(self._client, self._client.trial(found["trial_id"]))

    def to_pandas(self) -> pandas.DataFrame:
        """One row per trial: state, value (or values_METRIC), params_NAME, user_attrs_NAME, duration_s and others.

        Times are in UTC. Raises `MissingExtraError` if pandas is not installed.
        """
        return data_frame.frame(self.spec, self._client.exported_trials(self.id, curves=False))

    def as_optuna_study(self) -> Study:
        """The sweep as an in-memory Optuna study, for `optuna.visualization` and `optuna.importance`."""
        from podium.api.client import optuna_studies  # loads Optuna

        return optuna_studies.in_memory(self.refresh().data, self._client.exported_trials(self.id))

    def _line(self) -> str:
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items()) or "no trials yet"
        best = self.data["best"]
        found = "" if best is None else f"; best {self.metrics[0]} {best['value']:.4g} (trial {best['number']})"
        return f"sweep {self.id} {self.name!r} is {self.state}: {counts}{found}"

    def __repr__(self) -> str:
        return f"<{self._line()}>"

    def _repr_html_(self) -> str:
        """The current state: the best trials and the history of the first metric."""
        found = self.refresh()._client.best(self.id, None if len(self.metrics) > 1 else SHOWN_TRIALS)[:SHOWN_TRIALS]
        params = list(dict.fromkeys(name for trial in found for name in trial["params"]))
        rows = [
            [trial["number"], *_values(trial, self.metrics), *(trial["params"].get(name, "") for name in params)]
            for trial in found
        ]
        table = html_table(["trial", *self.metrics, *params], rows) if rows else ""
        return f"<b>{cell(self._line())}</b>{table}{self._history()}"

    def _history(self) -> str:
        goal = (self.spec.get("metrics") or [self.spec["metric"]])[0]["goal"]
        finished = self._client.trials(self.id, state="finished")
        points = [
            (trial["number"], trial["value"])
            for trial in finished
            if trial["value"] is not None and not is_infeasible(trial["constraints"])
        ]
        return sweep_html.svg(points, self.metrics[0], maximize=goal == "maximize")


class Ensemble:
    """An ensemble. `data` is the service's answer, with all fields."""

    def __init__(self, client: Client, ensemble: EnsembleName) -> None:
        """Open an ensemble by id or name. Raises `NotFoundError`."""
        self._client = client
        self.data = client.ensemble(ensemble)

    @property
    def id(self) -> int:
        return self.data["id"]

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def state(self) -> str:
        """As of the last `refresh`."""
        return self.data["state"]

    def refresh(self) -> Self:
        """Update `data`."""
        self.data = self._client.ensemble(self.id)
        return self

    def wait(self, timeout_s: float = 120.0) -> Self:
        """Wait until all members are ready. Raises `ServiceError` if they fail, or after `timeout_s`."""
        self.data = self._client.wait_ensemble(self.id, timeout_s)
        return self

    def predict(self, inputs: Rows, deadline_ms: float | None = None, *, whole: bool = False) -> Prediction:
        """See `Client.predict`."""
        return self._client.predict(self.id, inputs, deadline_ms, whole=whole)

    def evaluate(self, split: str = "test", **options: Any) -> EvaluationInfo:
        """See `Client.evaluate`."""
        return self._client.evaluate(self.id, split, **options)

    def __repr__(self) -> str:
        return f"<ensemble {self.id} {self.name!r} is {self.state}>"

    def _repr_html_(self) -> str:
        members = self.refresh().data["members"]
        rows = [[m["trial_number"], m["weight"], m["state"], m["reason"]] for m in members]
        return f"<b>{cell(repr(self)[1:-1])}</b>" + html_table(["trial", "weight", "state", "reason"], rows)


def _values(trial: BestTrialInfo, metrics: list[str]) -> Iterator[Any]:
    for name in metrics:
        yield trial["value"] if trial["values"] is None else trial["values"].get(name)
