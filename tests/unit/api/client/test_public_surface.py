"""The public surface: every name of `podium.__all__` resolves, and `submit` and `open_sweep` reach the service.

`PodiumCallback`, whose module imports torch, is imported by a trial in tests/integration/test_lightning.py.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

import podium
from podium.api.client.client import Client
from tests.service_rig import ServiceRig
from tests.specs import builtin_document


@pytest.fixture
def served(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> ServiceRig:
    """A service that `Client.of` finds."""

    def client_of(_: object = None) -> Client:
        return Client("http://testserver", "token-of-admin", http=service.client())

    monkeypatch.setattr(Client, "of", client_of)
    return service


@pytest.mark.parametrize("name", sorted({*podium.__all__} - {"PodiumCallback"}))
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(podium, name) is not None
    assert name in dir(podium)


def test_lightning_callback_is_listed() -> None:
    assert "PodiumCallback" in podium.__all__
    assert "PodiumCallback" in dir(podium)


def test_version_is_that_of_the_package() -> None:
    assert podium.__version__ == version("podium")


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'podium' has no attribute 'sweeps'"):
        getattr(podium, "sweeps")  # noqa: B009


@pytest.mark.parametrize("as_file", [True, False])
def test_submit_returns_the_sweep(served: ServiceRig, tmp_path: Path, as_file: bool) -> None:
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps(builtin_document()))
    sweep = podium.submit(file if as_file else builtin_document())
    assert isinstance(sweep, podium.Sweep)
    assert (sweep.state, sweep.data["spec"]["name"]) == ("queued", builtin_document()["name"])
    assert podium.open_sweep(sweep.id).name == sweep.name
    later = podium.submit(file if as_file else builtin_document(), after=[sweep.id])
    assert [each["id"] for each in later.data["predecessors"]] == [sweep.id]


def test_submit_names_the_invalid_key(served: ServiceRig) -> None:
    with pytest.raises(podium.InvalidSpecError, match="run_cap"):
        podium.submit(builtin_document(run_cap=-1))


def test_open_sweep_of_an_unknown_id_is_not_found(served: ServiceRig) -> None:
    with pytest.raises(podium.NotFoundError, match="there is no sweep 7"):
        podium.open_sweep(7)


def test_error_without_a_service_names_the_command_that_starts_one(tmp_path: Path) -> None:
    with pytest.raises(podium.ServiceError, match="podium serve --data-dir"):
        podium.submit(builtin_document(), data_dir=tmp_path)
