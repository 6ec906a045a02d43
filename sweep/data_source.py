"""Which data a sweep trains on; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from pydantic import model_validator

from sweep import catalog
from sweep.strict import Model, complain


class Data(Model):
    """A built-in data set, by name; `root` is the folder of its files where it has any."""

    name: str
    root: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Data:
        if self.name not in catalog.DATASETS:
            hint = catalog.suggestion(self.name, catalog.DATASETS)
            raise complain(f"unknown data set {self.name!r}; {hint}", "name")
        if self.name in catalog.NEEDS_ROOT and not self.root:
            raise complain(f"{self.name} needs the folder of its IDX files", "root")
        return self
