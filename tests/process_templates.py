"""One process template for all tests of this process; its start imports torch, which takes seconds."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path

from podium.sweep.process_template.template_forked_process import ForkedProcess
from podium.sweep.process_template.template_launcher import TEMPLATE, TemplateProcess
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.runtime.serve_environment_for_trials import user_environment

PACKAGES = Path(__file__).parent / "integration" / "packages"  # for `program.preload`
REPOSITORY = Path(__file__).parent.parent
RETRY_S = 0.1


class TestTemplate:
    """A process template, and the path of its socket. `module`: its program. `packages`: a folder of packages."""

    __test__ = False

    def __init__(self, module: str = TEMPLATE, packages: Path = PACKAGES) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="podium-template-"))
        self.requests = self._folder / "requests.sock"
        environment = user_environment()
        paths = [str(packages), str(REPOSITORY), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self.process = TemplateProcess(self.requests, self._folder / "workers.sock", environment, module)
        self.process.start_if_exited()

    def wait_for_imports(self) -> None:
        """Wait until the template has imported the rest: from then on, no process becomes outdated."""
        while not self._shares_the_compiler():
            time.sleep(RETRY_S)

    def _shares_the_compiler(self) -> bool:
        reading, writing = os.pipe()
        process = ForkedProcess.request(
            self.requests, ForkProcess("reports_the_compiler", (), user_environment()), [writing]
        )
        os.close(writing)
        try:
            return os.read(reading, 1) == b"1"
        finally:
            os.close(reading)
            process.connection.setblocking(True)
            while process.read():  # it is no longer a child of the template
                pass
            process.close()

    def close(self) -> None:
        self.process.close()
        shutil.rmtree(self._folder)


@functools.cache
def shared_template() -> TestTemplate:
    """The template, which has imported everything, and ends with this process."""
    template = TestTemplate("tests.complete_template")
    template.wait_for_imports()
    atexit.register(template.close)
    return template
