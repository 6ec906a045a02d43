"""One process template for all tests of this process; its start imports torch, which takes seconds."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

from podium.sweep.process_template.template_launcher import TemplateProcess
from podium.sweep.runtime.serve_environment_for_trials import user_environment

PACKAGES = Path(__file__).parent / "integration" / "packages"  # for `program.preload`


class TestTemplate:
    """A process template, and the path of its socket."""

    __test__ = False

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="podium-template-"))
        self.requests = self._folder / "requests.sock"
        environment = user_environment()
        environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), environment.get("PYTHONPATH", "")])
        self.process = TemplateProcess(self.requests, self._folder / "workers.sock", environment)
        self.process.start_if_exited()

    def close(self) -> None:
        self.process.close()
        shutil.rmtree(self._folder)


@functools.cache
def shared_template() -> TestTemplate:
    """The template, which ends with this process."""
    template = TestTemplate()
    atexit.register(template.close)
    return template
