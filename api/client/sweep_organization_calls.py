"""Details of sweeps, projects, views and search as methods of the Python client; the user's process and the CLI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from podium.api.client.connection import Connection
from podium.api.client.sweep_organization_responses import (
    FoundInfo,
    HistoryInfo,
    JoinedTrialInfo,
    ProjectInfo,
    SavedViewInfo,
)
from podium.api.client.sweep_responses import SweepInfo
from podium.api.client.trial_responses import LoggedImageInfo, TrialNameInfo
from podium.sweep.values.errors import NotFoundError


class SweepOrganizationCalls(Connection):
    """What users write about sweeps. None of it affects the search."""

    def rename_sweep(self, sweep_id: int, name: str) -> SweepInfo:
        """Rename a sweep; its sweep file keeps the name of its submission. Raises `InvalidSpecError`."""
        return self._describe(sweep_id, {"name": name})

    def describe_sweep(self, sweep_id: int, description: str) -> SweepInfo:
        """Write the description of a sweep in Markdown; "" removes it. Raises `InvalidSpecError`."""
        return self._describe(sweep_id, {"description": description})

    def tag_sweep(self, sweep_id: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> SweepInfo:
        """Add and remove tags of a sweep. Raises `InvalidSpecError`."""
        return self._describe(sweep_id, {"add_tags": list(add), "remove_tags": list(remove)})

    def move_sweep(self, sweep_id: int, project: str) -> SweepInfo:
        """Move a sweep to a project; "": to none. Raises `InvalidSpecError`."""
        return self._describe(sweep_id, {"project": project})

    def star_sweep(self, sweep_id: int, starred: bool = True) -> SweepInfo:
        """Star a sweep, or remove the star, for the user of this client's token."""
        return self._describe(sweep_id, {"starred": starred})

    def archive_sweep(self, sweep_id: int, archived: bool = True) -> SweepInfo:
        """Hide an ended sweep from lists, or list it again; nothing is deleted. Raises `ConflictError`."""
        return self._describe(sweep_id, {"archived": archived})

    def projects(self) -> list[ProjectInfo]:
        """The projects by name, the first 1,000."""
        return self._answer(list[ProjectInfo], "GET", "/api/v1/projects")

    def views(self, project: str = "") -> list[SavedViewInfo]:
        """The saved views of a project, and those for all sweeps."""
        return self._answer(list[SavedViewInfo], "GET", "/api/v1/views", params={"project": project})

    def save_view(self, name: str, query: Mapping[str, str], *, tab: str = "table", project: str = "") -> SavedViewInfo:
        """Save a view of the page of a sweep, such as `{"filter": "state:failed", "sort": "-duration_s"}`.

        One of the same name and project is replaced. Raises `InvalidSpecError`.
        """
        body = {"name": name, "project": project, "tab": tab, "query": dict(query)}
        return self._answer(SavedViewInfo, "PUT", "/api/v1/views", json=body, repeatable=True)

    def delete_view(self, view_id: int) -> SavedViewInfo:
        """Delete a saved view. Raises `NotFoundError`."""
        return self._answer(SavedViewInfo, "DELETE", f"/api/v1/views/{view_id}")

    def search(self, words: str, limit: int = 20) -> list[FoundInfo]:
        """Sweeps, trials, ensembles and projects by words of a name, an id, or `7/3` for trial 3 of sweep 7."""
        return self._answer(list[FoundInfo], "GET", "/api/v1/search", params={"q": words, "limit": limit})

    def trial_id(self, name: str) -> int:
        """The id of a trial by its name: the id, or `3.17` for trial 17 of sweep 3. Raises `NotFoundError`."""
        sweep_id, dot, number = name.rpartition(".")
        if not dot:
            return int(number)
        found = self._answer(list[TrialNameInfo], "GET", "/api/v1/trial-names", params={"trial": name})
        if not found:
            raise NotFoundError(f"there is no trial {number} of sweep {sweep_id}")
        return found[0]["id"]

    def compare(
        self, sweep_ids: Sequence[int], trial_ids: Sequence[int] = (), *, best: int = 10
    ) -> list[JoinedTrialInfo]:
        """Chosen trials and the `best` trials of each sweep, with parameters, values and the last value of each metric.

        Raises `NotFoundError` for an unknown sweep; unknown trials are left out.
        """
        params = {"sweep": list(sweep_ids), "trial": list(trial_ids), "best": best}
        return self._answer(list[JoinedTrialInfo], "GET", "/api/v1/compare/trials", params=params)

    def histories(self, sweep_ids: Sequence[int], by: Literal["number", "time"] = "number") -> list[HistoryInfo]:
        """The trials of each sweep that improved its best value, by number or by time. Raises `NotFoundError`."""
        params = {"sweep": list(sweep_ids), "by": by}
        return self._answer(list[HistoryInfo], "GET", "/api/v1/compare/histories", params=params)

    def images(self, trial_id: int) -> list[LoggedImageInfo]:
        """The images that a trial logged, by name and step; `download` fetches one."""
        return self._answer(list[LoggedImageInfo], "GET", f"/api/v1/trials/{trial_id}/images")

    def _describe(self, sweep_id: int, body: dict[str, Any]) -> SweepInfo:
        path = f"/api/v1/sweeps/{sweep_id}/details"
        return self._answer(SweepInfo, "PATCH", path, json=body, repeatable=True)
