"""A script that does not use Podium: `script.py WHAT --x=0.5 …`; each function is what one trial runs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def prints(x: float) -> None:
    for epoch in range(3):
        print(f"epoch {epoch}: loss {x / (epoch + 1):.3f}, score {x * epoch:.2f}")


def appends(x: float) -> None:
    with Path(os.environ["PODIUM_METRICS"]).open("a") as file:
        for step in (5, 10):
            file.write(json.dumps({"step": step, "score": x + step, "loss": 0.5}) + "\n")


def appends_without_an_end(x: float) -> None:
    Path(os.environ["PODIUM_METRICS"]).write_text(f'{{"score": {x}}}\n{{"score": {x + 1}}}')


def fails_in_a_line(x: float) -> None:
    Path(os.environ["PODIUM_METRICS"]).write_text('{"score": 1}\n{"sco')
    raise ValueError("as planned")


def looks_around(x: float) -> None:
    Path("written.txt").write_text("in its own folder")
    Path(__file__).with_name("sibling.txt").write_text("next to the script")
    names = sorted(name for name in os.environ if name.startswith(("RAY_", "PODIUM_")))
    given = json.loads(os.environ["PODIUM_PARAMS"])
    print(f"here: {Path('helper.txt').exists()} {Path.cwd()} {names} {given} {os.environ['GREETING']}")
    print("score 1")


def fails(x: float) -> None:
    print("score 1")
    raise ValueError("as planned")


def leaves_without_a_word(x: float) -> None:
    sys.exit(3)


def has_no_memory(x: float) -> None:
    raise MemoryError("none left")


def has_no_device_memory(x: float) -> None:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")


def kills_itself(x: float) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def says_much_and_kills_itself(x: float) -> None:
    for step in range(1002):
        print(f"score {step}")
    sys.stdout.flush()
    kills_itself(x)


def says_nothing(x: float) -> None:
    print("done")


def diverges_in_json(x: float) -> None:
    with Path(os.environ["PODIUM_METRICS"]).open("a") as file:
        file.write('{"score": 1}\n{"score": NaN}\n')
    time.sleep(1000)


def diverges_in_json_strings(x: float) -> None:
    with Path(os.environ["PODIUM_METRICS"]).open("a") as file:
        file.write('{"score": 1}\n{"score": "-Infinity"}\n')
    time.sleep(1000)


def sums_up_to_nan(x: float) -> None:
    Path(os.environ["PODIUM_METRICS"]).write_text('{"score": 1}\n{"summary": {"score": NaN}}\n')


def converges(x: float) -> None:
    print("score 1.5\nscore 1.2e-05", flush=True)


def diverges_in_another_metric(x: float) -> None:
    print("score 0.5, loss nan", flush=True)


def diverges(x: float) -> None:
    print("score nan", flush=True)
    time.sleep(1000)


def misleads(x: float) -> None:
    print("a" * 40 + "!", flush=True)
    time.sleep(1000)


def floods(x: float) -> None:
    line = b"x" * 1000 + b"\n"
    for _ in range(20_000):
        sys.stdout.buffer.write(line)
        sys.stderr.buffer.write(line)
    sys.stdout.buffer.write(b"no end of line" * 100_000)
    print("\nscore 1", end="")


def leaves_a_daemon(x: float) -> None:
    """It holds the pipes open, in a session of its own."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    print(f"score {child.pid}")


def leaves_a_talker(x: float) -> None:
    """It prints without end, in the script's process group or in a session of its own."""
    for own in (False, True):
        subprocess.Popen(["yes", "score 0.5"], start_new_session=own)
    time.sleep(0.3)


def trains(x: float) -> None:
    for step in range(1000):
        print(f"score {x}", flush=True)
        time.sleep(0.05 if step else 0)


def _begins() -> None:
    Path(os.environ["PODIUM_ARTIFACTS"], "begun.txt").write_text("an artifact")


def cleans_up(x: float) -> None:
    signal.signal(signal.SIGTERM, lambda *_: (print("cleaned up", flush=True), sys.exit(0)))
    _begins()
    trains(x)


def ignores_signals(x: float) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _begins()
    trains(x)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--x", type=float, required=True)
    parser.add_argument("--act", required=True)
    given = parser.parse_args()
    globals()[given.what](given.x)
