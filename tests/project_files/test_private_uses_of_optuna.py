"""Only the adapter uses private names of Optuna; `tests/contract/test_optuna_private.py` checks that they exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.sweep.search import optuna_private
from tests.private_uses import private_uses
from tests.repository import ROOT


def test_only_the_adapter_uses_private_names_of_optuna() -> None:
    """In every module of the product that imports Optuna: private modules, and private names of its objects."""
    adapter = Path(optuna_private.__file__).name
    found = {
        f"{path.relative_to(ROOT)}:{line}: {used}"
        for folder in ("sweep", "ensemble", "api", "db", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for line, used in private_uses(path.read_text())
        if path.name != adapter
    }
    assert found == set()
    assert len(private_uses(Path(optuna_private.__file__).read_text())) > 15  # or the check sees nothing


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("from optuna.storages._rdb import models", ["optuna.storages._rdb.models"]),
        ("from optuna.storages import _rdb", ["optuna.storages._rdb"]),
        ("from optuna import _imports as imports", ["optuna._imports"]),
        ("import optuna.storages._rdb.models as models", ["optuna.storages._rdb.models"]),
        ("import optuna\noptuna.storages._rdb.models", ["_rdb"]),
        ("import optuna\ndef f(found):\n    return found._study_id", ["_study_id"]),
        ("import optuna\ndef f():\n    return optuna.create_study()._study_id", ["_study_id"]),
        ("from optuna import Study\ndef f(study):\n    return getattr(study, '_study_id')", ["_study_id"]),
        ("import optuna\ndef f(study):\n    setattr(study.inner, '_stop_flag', True)", ["_stop_flag"]),
        ("import importlib, optuna\nimportlib.import_module('optuna.storages._rdb')", ["optuna.storages._rdb"]),
        (
            "from optuna.samplers import TPESampler\nclass Own(TPESampler):\n    def f(self):\n        self._rng = 1",
            ["_rng"],
        ),
        (
            "import optuna\nclass Own(optuna.samplers.TPESampler):\n    def _sample(self): return super()._sample()",
            ["_sample", "_sample"],
        ),
        ("def f(study):\n    return study._study_id", []),  # a study of Podium: Optuna is not imported
        ("import optuna\nclass Own:\n    def f(self, other):\n        return self._x + other._x", []),
        ("import optuna\nclass Own(optuna.pruners.NopPruner):\n    def f(self):\n        self._own = 1", []),
        ("from optuna.distributions import FloatDistribution as _Float\n_Float(0, 1).__class__", []),
    ],
)
def test_private_uses_are_found(source: str, used: list[str]) -> None:
    assert [name for _, name in private_uses(source)] == used
