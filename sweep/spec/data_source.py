"""Which data a sweep trains on; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from pydantic import Field, model_validator

from podium.sweep.spec import catalog
from podium.sweep.spec.catalog import Task
from podium.sweep.spec.strict_model import Model, complain


class Data(Model):
    """A built-in data set by `name`, a folder of IDX files by `idx`, or rows by `file`.

    Folders and files are relative to the sweep file. Beside `file` and `idx`, `name` is only what to call it.
    """

    name: str | None = Field(
        None, min_length=1, max_length=100, description="digits, diabetes, mnist, fashion-mnist; or what to call it"
    )
    root: str | None = Field(None, description="folder of the IDX files of mnist or fashion-mnist")
    idx: str | None = Field(None, description="folder of any IDX files, named as MNIST's are")
    file: str | None = Field(None, description="a .csv, .npz or .parquet file, or a folder of many of one kind")
    target: str | None = Field(None, description="the column, or array, to predict")
    features: list[str] | None = Field(None, min_length=1, description="the columns to learn from; all by default")
    task: Task | None = Field(None, description="classes or values; found out from the target if absent")

    source: str | None = Field(
        None, max_length=64, description="which state of the files it is; the service writes it when it accepts a sweep"
    )

    @property
    def learned(self) -> Task | None:
        """What a network learns from it: classes or values; None where only the file can tell."""
        if self.file is not None:
            return self.task
        return "classification" if self.idx is not None else catalog.task_of(self.name or "")

    @property
    def is_table(self) -> bool:
        """Whether it is sure to have columns and no images."""
        if self.file is not None:
            return self.file.endswith((".csv", ".parquet"))
        return self.idx is None and self.name in catalog.TABLES

    @property
    def shown(self) -> str:
        return self.name or self.file or self.idx or "the data"

    @model_validator(mode="after")
    def _one_source(self) -> Data:
        if self.file is not None and self.idx is not None:
            raise complain("give file or idx, not both", "idx")
        if self.file is None and self.idx is None:
            self._check_built_in()
        elif self.root is not None:
            raise complain("root goes with mnist and fashion-mnist; leave it out", "root")
        if self.file is not None and self.target is None:
            raise complain("name the column, or the array, to predict", "target")
        for key in ("target", "features"):
            if self.file is None and getattr(self, key) is not None:
                raise complain(f"{key} goes with file; leave it out", key)
        if self.file is None and self.task not in (None, self.learned):
            raise complain(f"{self.shown} is for {self.learned}; leave it out", "task")
        return self

    def _check_built_in(self) -> None:
        if self.name is None:
            known = ", ".join(sorted(catalog.DATASETS))
            raise complain(f"is missing; known: {known}; or give the file of your own data", "name")
        if self.name not in catalog.DATASETS:
            hint = catalog.suggestion(self.name, catalog.DATASETS)
            raise complain(f"unknown data set {self.name!r}; {hint}", "name")
        if self.name in catalog.NEEDS_ROOT and not self.root:
            raise complain(f"{self.name} needs the folder of its IDX files", "root")
