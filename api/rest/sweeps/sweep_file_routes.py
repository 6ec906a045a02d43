"""Editing of sweep files over REST, for editors and forms: check, change, submit, show; api."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.openapi_problem_responses import idempotent
from podium.api.http.route_dependencies import RowId, context, has_disk_space
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.base_schema import View
from podium.api.rest.schemas.sweep_schemas import SweepView
from podium.api.rest.sweeps.sweep_response import submitted_view
from podium.api.use_cases.sweep_submission import Plan, preview_text, submit_text, unreadable
from podium.db.access.tokens import Holder
from podium.db.stores import sweeps
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.form_edits import Change, apply_changes, number_literals
from podium.sweep.specfile.spec_summary import describe_terms, grid_size, search_space
from podium.sweep.specfile.sweep_text_check import read_sweep_text
from podium.sweep.specfile.yaml_writer import to_yaml
from podium.sweep.values.attempt_assignment import Params

router = APIRouter(prefix="/api/v1", tags=["sweep files"])
MAX_TEXT = 100_000  # characters; parsing this many takes seconds


class YamlResponse(PlainTextResponse):
    """A YAML document (RFC 9512)."""

    media_type = "application/yaml"


class SweepFileText(BaseModel):
    """A sweep file in YAML or JSON."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(max_length=MAX_TEXT)


class KeyChange(BaseModel):
    """A new value for one key."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1, max_length=16, description="path of the key from the top of the file"
    )
    value: str | None = Field(max_length=MAX_TEXT, description="as YAML; null removes the key")


class SweepFileChange(SweepFileText):
    """A sweep file and the changes to apply."""

    changes: list[KeyChange] = Field(min_length=1, max_length=1000)


class WrittenView(View):
    """The changed sweep file."""

    text: str


class FileProblemView(View):
    """One problem: the key of the document, and its position in the text."""

    path: list[str]
    line: int | None
    column: int | None
    message: str


class ParameterView(View):
    """One parameter of the search space, as text."""

    name: str
    kind: str
    range: str
    scale: str
    condition: str


class PlacesView(View):
    """On how many devices of the service the sweep could run now."""

    count: int
    usable: int
    at_once: int
    kinds: list[str]


class PlanView(View):
    """What the sweep would run."""

    method: str
    searched_by: str  # the method that `auto` resolves to
    run_cap: int
    grid_size: int | None  # null: a continuous space
    space: list[ParameterView]
    terms: dict[str, str]
    code: str | None
    data: str | None
    devices: PlacesView


class SweepFileView(View):
    """A parsed sweep file. It can be submitted if `problems` is empty."""

    document: dict[str, Any] | None  # null if the text cannot be parsed
    numbers: dict[str, str]  # as spelled in the text, by JSON pointer: 1.0 and 1 define different ranges
    wandb: bool  # the text is in W&B's syntax, and `document` is its conversion
    problems: list[FileProblemView]
    notes: list[str]
    samples: list[Params]  # random configurations
    plan: PlanView | None


@router.post("/sweep-files/read", dependencies=[submitter])
def read_sweep_file(body: SweepFileText, service: ServiceContext = context) -> SweepFileView:
    """Check a sweep file and preview the sweep, without submitting it. Problems are part of the response."""
    found = preview_text(service, body.text)
    read, plan = found.read, found.plan
    return SweepFileView(
        document=read.document,
        numbers=number_literals(body.text) if read.document is not None and not read.wandb else {},
        wandb=read.wandb,
        problems=[FileProblemView.model_validate(problem) for problem in found.problems],
        notes=[*read.notes, *(plan.notes if plan is not None else ())],
        samples=plan.samples if plan is not None else [],
        plan=None if plan is None else _plan(plan),
    )


@router.post("/sweep-files/write", dependencies=[submitter])
def write_sweep_file(body: SweepFileChange) -> WrittenView:
    """Change keys of a sweep file; the rest of the text, including comments, is preserved.

    A file in W&B's syntax is converted to Podium's. 422 if the text cannot be read.
    """
    text, read = body.text, read_sweep_text(body.text) if body.text.strip() else None
    if read is not None and read.document is None:
        raise unreadable(read)
    if read is not None and read.wandb and read.document is not None:
        text = to_yaml(read.document)
    return WrittenView(text=apply_changes(text, [Change(tuple(one.path), one.value) for one in body.changes]))


@router.post("/sweep-files/submit", status_code=201, dependencies=[has_disk_space], responses=idempotent(SweepView))
def submit_sweep_file(
    response: Response,
    body: SweepFileText,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
    holder: Holder = submitter,
) -> SweepView:
    """Submit a sweep file as text, with the same checks as `POST /sweeps`."""
    submitted = submit_text(service, body.text, holder.name, idempotency_key)
    return submitted_view(response, service, submitted, holder.name)


@router.get("/sweeps/{sweep_id}/file", dependencies=[viewer], response_class=YamlResponse)
def show_sweep_file(sweep_id: RowId, service: ServiceContext = context) -> YamlResponse:
    """The sweep file as submitted; for a sweep submitted as JSON, the equivalent YAML."""
    with service.database.read() as connection:
        row = sweeps.get(connection, sweep_id)
        text = sweeps.file_of(connection, sweep_id)
    return YamlResponse(text if text is not None else to_yaml(_as_file(json.loads(row.spec_json))))


def _as_file(document: dict[str, Any]) -> dict[str, Any]:
    if document.get("metrics"):
        document.pop("metric", None)
    data = (document.get("program") or {}).get("data")
    if isinstance(data, dict):
        data.pop("source", None)
    order = list(SweepSpec.model_fields)
    return dict(sorted(document.items(), key=lambda item: order.index(item[0])))


def _plan(plan: Plan) -> PlanView:
    spec = plan.spec
    return PlanView(
        method=spec.method_name,
        searched_by=spec.searched_by,
        run_cap=spec.run_cap,
        grid_size=grid_size(spec),
        space=[ParameterView(**parameter) for parameter in search_space(spec)],
        terms=describe_terms(spec),
        code=plan.code,
        data=plan.data,
        devices=PlacesView.model_validate(plan.devices),
    )
