"""Names in the file of a user's predictions; trial process, api and host processes."""

from __future__ import annotations

TARGETS = "targets."  # prefix of a split's name, next to the predictions: the true targets
TARGETS_SHA256 = "targets_sha256"  # in the metadata of the predictions: of all targets in the file
