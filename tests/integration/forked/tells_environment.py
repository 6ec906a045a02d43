"""A package to preload that writes the environment of its process to the file that FILE names."""

from __future__ import annotations

import json
import os
from pathlib import Path

Path(os.environ["FILE"]).write_text(json.dumps(dict(os.environ)))
