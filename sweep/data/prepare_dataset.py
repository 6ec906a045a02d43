"""Builds the cache of a data set in a process of its own: `python -P -m podium.sweep.data.prepare_dataset CACHE`.

The node service of the head starts it when the first trial of a data set is placed on another machine. It reads
`program.data` of the sweep as JSON from standard input, and writes the folder of the cache to standard output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from podium.sweep.data.memory_mapped_datasets import prepare_cache
from podium.sweep.values.errors import DataError


def main() -> None:
    """Exits with 1 and a sentence if the data cannot be read."""
    try:
        print(prepare_cache(json.load(sys.stdin), Path(sys.argv[1])))
    except (DataError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
