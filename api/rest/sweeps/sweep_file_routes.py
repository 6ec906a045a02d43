"""Sweep files over REST, for editors and forms: read and checked, changed, submitted, written; api."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from podium.api.http.authentication import submitter, viewer
from podium.api.http.problem_schema import again
from podium.api.http.route_context import RowId, ServiceContext, context, has_room
from podium.api.rest.models.response_models import SweepView, View
from podium.api.rest.sweeps.sweep_file_checks import Looked, look_up
from podium.api.rest.sweeps.sweep_routes import accepted, view_of
from podium.db.stores import devices, sweeps
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.specfile.form_edits import Change, changed, numbers_of
from podium.sweep.specfile.random_configurations import samples
from podium.sweep.specfile.spec_hints import search_notes
from podium.sweep.specfile.spec_summary import grid_size, space, terms
from podium.sweep.specfile.sweep_text import read_sweep_text
from podium.sweep.specfile.yaml_writer import yaml_of
from podium.sweep.values.errors import InvalidSpecError, Problem
from podium.sweep.values.trial import Params

router = APIRouter(prefix="/api/v1", tags=["sweep files"])
MAX_TEXT = 100_000  # characters: reading so many takes some seconds
SAMPLES = 3
_USABLE = ("ready", "busy")


class YamlResponse(PlainTextResponse):
    """RFC 9512."""

    media_type = "application/yaml"


class SweepFileText(BaseModel):
    """A sweep file: YAML, or JSON."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(max_length=MAX_TEXT)


class KeyChange(BaseModel):
    """A new value for one key."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1, max_length=16, description="the key, from the top of the file"
    )
    value: str | None = Field(max_length=MAX_TEXT, description="as YAML; null removes the key")


class SweepFileChange(SweepFileText):
    """A sweep file, and what is to change in it."""

    changes: list[KeyChange] = Field(min_length=1, max_length=1000)


class WrittenView(View):
    """A sweep file as it is now."""

    text: str


class FileProblemView(View):
    """One thing that is wrong: the key of the document, and where in the text that is."""

    path: list[str]
    line: int | None
    column: int | None
    message: str


class ParameterView(View):
    """One parameter of the space, in words."""

    name: str
    kind: str
    range: str
    scale: str
    condition: str


class PlacesView(View):
    """On how many of the service's devices it could run now."""

    count: int
    usable: int
    at_once: int
    kinds: list[str]


class PlanView(View):
    """What the sweep would do."""

    method: str
    searched_by: str  # the method, with `auto` decided
    run_cap: int
    grid_size: int | None  # null: a continuous space
    space: list[ParameterView]
    terms: dict[str, str]
    code: str | None
    data: str | None
    devices: PlacesView


class SweepFileView(View):
    """What a sweep file says. It can be submitted as it is where `problems` is empty."""

    document: dict[str, Any] | None  # null where the text cannot be read
    numbers: dict[str, str]  # as they are written in the text, by JSON pointer: 1.0 is another range than 1
    wandb: bool  # the text is in W&B's syntax, and `document` is what it means
    problems: list[FileProblemView]
    notes: list[str]
    samples: list[Params]  # configurations at random
    plan: PlanView | None


@router.post("/sweep-files/read", dependencies=[submitter])
def read_sweep_file(body: SweepFileText, service: ServiceContext = context) -> SweepFileView:
    """Check a sweep file and say what it means, starting nothing. What is wrong with it is part of the answer."""
    read = read_sweep_text(body.text)
    plan: PlanView | None = None
    problems, drawn, notes = read.problems, list[Params](), list(read.notes)
    if read.spec is not None:
        try:
            plan = _plan(read.spec, look_up(read.spec, service), service)
            drawn = samples(read.spec, SAMPLES) if read.spec.parameters else []
            notes += search_notes(read.spec)
        except InvalidSpecError as error:
            problems = read.placed(error.problems)
    return SweepFileView(
        document=read.document,
        numbers=numbers_of(body.text) if read.document is not None and not read.wandb else {},
        wandb=read.wandb,
        problems=[FileProblemView(**_fields(p)) for p in problems],
        notes=notes,
        samples=drawn,
        plan=plan,
    )


@router.post("/sweep-files/write", dependencies=[submitter])
def write_sweep_file(body: SweepFileChange) -> WrittenView:
    """Change some keys of a sweep file; the rest of the text, comments too, stays as it is.

    One in W&B's syntax becomes one of ours. 422 where the text cannot be read.
    """
    text, read = body.text, read_sweep_text(body.text) if body.text.strip() else None
    if read is not None and read.document is None:
        raise InvalidSpecError([Problem(p.path, p.message, p.line) for p in read.problems])
    if read is not None and read.wandb and read.document is not None:
        text = yaml_of(read.document)
    return WrittenView(text=changed(text, [Change(tuple(one.path), one.value) for one in body.changes]))


@router.post("/sweep-files/submit", status_code=201, dependencies=[submitter, has_room], responses=again(SweepView))
def submit_sweep_file(
    response: Response,
    body: SweepFileText,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    service: ServiceContext = context,
) -> SweepView:
    """Submit a sweep file as text; otherwise like `POST /sweeps`."""
    read = read_sweep_text(body.text)
    if read.spec is None:
        raise InvalidSpecError([Problem(p.path, p.message, p.line) for p in read.problems])
    try:
        look_up(read.spec, service)
        sweep_id, new = accepted(read.spec, service, idempotency_key, body.text)
    except InvalidSpecError as error:
        raise InvalidSpecError([Problem(p.path, p.message, p.line) for p in read.placed(error.problems)]) from None
    if not new:
        response.status_code = 200
    response.headers["Location"] = f"/api/v1/sweeps/{sweep_id}"
    return view_of(service, sweep_id)


@router.get("/sweeps/{sweep_id}/file", dependencies=[viewer], response_class=YamlResponse)
def show_sweep_file(sweep_id: RowId, service: ServiceContext = context) -> YamlResponse:
    """The sweep file of a sweep: the text that was submitted, or what came as JSON as YAML, without what was added."""
    with service.database.read() as connection:
        row = sweeps.get(connection, sweep_id)
        text = sweeps.file_of(connection, sweep_id)
    return YamlResponse(text if text is not None else yaml_of(_as_file(json.loads(row.spec_json))))


def _as_file(document: dict[str, Any]) -> dict[str, Any]:
    if document.get("metrics"):
        document.pop("metric", None)
    data = (document.get("program") or {}).get("data")
    if isinstance(data, dict):
        data.pop("source", None)
    order = list(SweepSpec.model_fields)
    return dict(sorted(document.items(), key=lambda item: order.index(item[0])))


def _plan(spec: SweepSpec, found: Looked, service: ServiceContext) -> PlanView:
    return PlanView(
        method=spec.method_name,
        searched_by=spec.searched_by,
        run_cap=spec.run_cap,
        grid_size=grid_size(spec),
        space=[ParameterView(**parameter) for parameter in space(spec)],
        terms=terms(spec),
        code=found.code,
        data=found.data,
        devices=_places(spec, service),
    )


def _places(spec: SweepSpec, service: ServiceContext) -> PlacesView:
    with service.database.read() as connection:
        there, aside = devices.all_of(connection), devices.aside(connection)
    usable = [device for device in there if device.state in _USABLE and device.id not in aside]
    wanted, most = spec.resources.device, spec.resources.max_concurrent
    fits = sum(wanted in ("auto", device.kind) for device in usable)
    at_once = min(fits, most or fits, spec.run_cap)
    kinds = sorted({device.kind for device in there})
    return PlacesView(count=len(there), usable=len(usable), at_once=at_once, kinds=kinds)


def _fields(problem: Any) -> dict[str, Any]:
    return {"path": list(problem.path), "line": problem.line, "column": problem.column, "message": problem.message}
