"""The `program.data` block of the sweep file: the data set that trials train on; CLI, api process and scheduler."""

from __future__ import annotations

from pydantic import Field, model_validator

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.builtin_catalog import Task
from podium.sweep.spec.strict_model import Model, field_error


class Data(Model):
    """A built-in data set (`name`), a folder of IDX files (`idx`), or tabular data (`file`).

    Paths are relative to the sweep file. With `file` or `idx`, `name` is only a display name.
    """

    name: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="digits, diabetes, mnist or fashion-mnist; with file or idx, a display name",
    )
    root: str | None = Field(None, description="folder of the IDX files of mnist or fashion-mnist")
    idx: str | None = Field(None, description="folder of IDX files with the file names of MNIST")
    file: str | None = Field(None, description="a .csv, .npz or .parquet file, or a folder of files of one format")
    target: str | None = Field(None, description="the column or array to predict")
    features: list[str] | None = Field(None, min_length=1, description="input columns or arrays; default: all others")
    task: Task | None = Field(None, description="classification or regression; default: inferred from the target")

    source: str | None = Field(
        None, max_length=64, description="hash of the file states; set by the service when it accepts the sweep"
    )

    @property
    def learned(self) -> Task | None:
        """The task; None if it has to be inferred from the file."""
        if self.file is not None:
            return self.task
        return "classification" if self.idx is not None else builtin_catalog.task_of(self.name or "")

    @property
    def is_table(self) -> bool:
        """Whether the data is known to be tabular, without reading it."""
        if self.file is not None:
            return self.file.endswith((".csv", ".parquet"))
        return self.idx is None and self.name in builtin_catalog.TABLES

    @property
    def description(self) -> str:
        return self.name or self.file or self.idx or "the data"

    @model_validator(mode="after")
    def _one_source(self) -> Data:
        if self.file is not None and self.idx is not None:
            raise field_error("file and idx are mutually exclusive; remove one", "idx")
        if self.file is None and self.idx is None:
            self._check_built_in()
        elif self.root is not None:
            raise field_error("only valid with name: mnist or fashion-mnist; remove it", "root")
        if self.file is not None and self.target is None:
            raise field_error("is required with file: the column or array to predict", "target")
        for key in ("target", "features"):
            if self.file is None and getattr(self, key) is not None:
                raise field_error("only valid with file; remove it", key)
        if self.file is None and self.task not in (None, self.learned):
            raise field_error(f"{self.description} is a {self.learned} data set; remove this key", "task")
        return self

    def _check_built_in(self) -> None:
        if self.name is None:
            known = ", ".join(sorted(builtin_catalog.DATASETS))
            raise field_error(f"is required; built-in data sets: {known}; for your own data use file", "name")
        if self.name not in builtin_catalog.DATASETS:
            hint = builtin_catalog.did_you_mean(self.name, builtin_catalog.DATASETS)
            raise field_error(f"unknown data set {self.name!r}; {hint}", "name")
        if self.name in builtin_catalog.NEEDS_ROOT and not self.root:
            raise field_error(f"is required with name: {self.name}: the folder of its IDX files", "root")
