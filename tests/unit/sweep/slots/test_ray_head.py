"""What the guardian of Ray reads of it."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.layout import RuntimeDirectory
from podium.sweep.slots import ray_head


def test_ray_is_up_when_its_address_is_written_and_not_when_the_file_is_created(tmp_path: Path) -> None:
    runtime = RuntimeDirectory(tmp_path)
    assert ray_head.address_of(runtime) == ""
    runtime.ray.mkdir(parents=True)
    ray_head.address_file(runtime).touch()
    assert ray_head.address_of(runtime) == ""
    ray_head.address_file(runtime).write_text("127.0.0.1:6379\n")
    assert ray_head.address_of(runtime) == "127.0.0.1:6379"
