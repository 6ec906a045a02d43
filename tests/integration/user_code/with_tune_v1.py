"""The same functions with Ray Train V1, as scripts choose it."""

# ruff: noqa: F401
import os

os.environ["RAY_TRAIN_V2_ENABLED"] = "0"

from with_tune import continues_with_train, looks_around, reports_through_train  # type: ignore[import-not-found]
