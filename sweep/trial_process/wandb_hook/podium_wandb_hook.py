"""Forwards the numbers and images of `wandb.log`, `run.log` and `wandb.summary` to a sink; the user's process.

`install` adds a finder to `sys.meta_path`. When the program imports wandb, `Run.log`, `Run.define_metric` and
`Summary.update` are wrapped: each calls the original, then forwards its numbers. An error in this module must not end
the user's program, except those that the sink raises on purpose.

Supports Python 3.8 and wandb 0.13 or later: it imports only the standard library, uses only public names of wandb, and
skips missing ones.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would slow down every Python process of a script
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping
    from typing import Any, Protocol

    class Sink(Protocol):
        """Receives the numbers."""

        def log(self, values: dict[str, float], step: int) -> None:
            """Receive one point of each metric."""

        def summarize(self, values: dict[str, float]) -> None:
            """Receive final values, until later ones replace them."""

        def log_image(self, name: str, png: bytes, step: int) -> None:
            """Receive an image."""


MAX_NAME = 200  # characters, the limit of Podium
MAX_NAMES = 900  # metrics of one program; Podium stores 1,000 curves per trial
_NAMES_A_LINE = 100  # a line of the file has 64 KB at most
_MAX_DEPTH = 16
MAX_IMAGES = 16  # of one name at one step; a list has several
_IMAGES = "_images"  # the folder, and the names in it, of `podium.sweep.values.logged_image_names`
_IN_FILE_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_WRAPPED = "_podium_wrapped"


class JsonFile:
    """Appends lines of JSON to the file that PODIUM_METRICS names; images are files of the folder of artifacts."""

    def __init__(self, path: str, artifacts: str | None = None) -> None:
        self._path = path
        self._artifacts = artifacts

    def log(self, values: dict[str, float], step: int) -> None:
        """Append one point of each metric."""
        for part in _parts(values):
            line: dict[str, Any] = {**part, "step": step}
            if "step" in part:  # a metric of that name
                line["metrics"] = {"step": part["step"]}
            self._append(line)

    def summarize(self, values: dict[str, float]) -> None:
        """Append final values, until later ones replace them."""
        for part in _parts(values):
            self._append({"summary": part})

    def log_image(self, name: str, png: bytes, step: int) -> None:
        """Write the file of an image, which appears complete."""
        if self._artifacts is None:
            return
        folder = os.path.join(self._artifacts, _IMAGES)  # noqa: PTH118 - pathlib takes 5 ms to import
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        encoded = "".join(chr(byte) if chr(byte) in _IN_FILE_NAME else f"~{byte:02X}" for byte in name.encode())
        path = os.path.join(folder, f"{encoded}.{step}.png")  # noqa: PTH118
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "wb") as file:  # noqa: PTH123
            file.write(png)
        os.replace(temporary, path)  # noqa: PTH105

    def _append(self, line: dict[str, Any]) -> None:
        import json

        # A single write to a file opened with O_APPEND is atomic with respect to other processes.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)


def install(sink: Sink, objectives: str) -> None:
    """Forward everything logged from now on to `sink`.

    `objectives`: the names of the sweep's objectives as JSON; these are never dropped.
    """
    if "wandb" in sys.modules:
        _wrap_wandb(sys.modules["wandb"], sink, objectives)
    else:
        sys.meta_path.insert(0, _Finder(sink, objectives))


class _Finder:
    """Finds wandb as Python does, and wraps it after its import."""

    def __init__(self, sink: Sink, objectives: str) -> None:
        self._sink = sink
        self._objectives = objectives
        self._is_searching = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See `importlib.abc.MetaPathFinder`."""
        if name != "wandb" or self._is_searching:
            return None
        import importlib.util

        self._is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_searching = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            _wrap_wandb(module, self._sink, self._objectives)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _wrap_wandb(wandb: Any, sink: Sink, objectives: str) -> None:
    """Wrap the classes of runs and summaries, and `wandb.init`, which may return a run of another class."""
    forwarder = _Forwarder(sink, wandb, objectives)
    run_class = getattr(sys.modules.get("wandb.sdk.wandb_run"), "Run", None)
    summary_class = getattr(sys.modules.get("wandb.sdk.wandb_summary"), "Summary", None)
    if run_class is None or not hasattr(wandb, "init"):
        print(
            "podium: this version of wandb has no class Run; its metrics are not forwarded to Podium", file=sys.stderr
        )
        return
    _wrap(run_class, "log", forwarder.after_log)
    _wrap(run_class, "define_metric", forwarder.after_define_metric)
    if summary_class is not None:
        _wrap(summary_class, "update", forwarder.after_summary)
    _wrap(wandb, "init", forwarder.after_init, is_method=False)


def _wrap(owner: Any, name: str, after: Callable[..., None], *, is_method: bool = True) -> None:
    """Call `after` with the arguments, or the result, of each call that does not raise."""
    import functools

    original = getattr(owner, name, None)
    if original is None or getattr(original, _WRAPPED, False):
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if is_method:
            after(*args, **kwargs)
        else:
            after(result)
        return result

    setattr(wrapped, _WRAPPED, True)
    setattr(owner, name, wrapped)


class _Forwarder:
    """Tracks the step of each run, as wandb counts it, and the summary aggregate of each metric."""

    def __init__(self, sink: Sink, wandb: Any, objectives: str) -> None:
        import json
        import weakref

        self._sink = sink
        self._wandb: Any = wandb
        self._steps: MutableMapping[Any, int] = weakref.WeakKeyDictionary()  # by run
        self._aggregates: dict[str, str] = {}  # by name or prefix of a metric: min or max
        self._best: dict[str, float] = {}  # by metric
        self._names: set[str] = set(json.loads(objectives))
        self._has_warned = False

    def after_init(self, run: Any) -> None:
        """A disabled run (WANDB_MODE=disabled) is of a subclass with its own `log`."""
        kind = type(run)
        if "log" in vars(kind):
            _lock_parameters(run)
            was_global = getattr(getattr(self._wandb, "log", None), "__self__", None) is run
            _wrap(kind, "log", self.after_log)
            if was_global:
                self._wandb.log = run.log  # `wandb.log` was bound to the original

    def after_log(
        self, run: Any, data: Any = None, step: Any = None, commit: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        """`Run.log`; wandb ignores, with a warning, a step below that of the previous call."""
        current = self._steps.get(run, 0)
        at = current if step is None else int(step)
        if at < current:
            return
        is_committed = step is None if commit is None else commit
        self._steps[run] = at + 1 if is_committed else at
        values = self._known(_numbers(data))
        if values:
            self._send(self._sink.log, values, at)
            final = self._final(values)
            if final:
                self._send(self._sink.summarize, final)
        for name, image in _images(data, getattr(self._wandb, "Image", None)):
            self._send_image(name, image, at)

    def _send_image(self, name: str, image: Any, step: int) -> None:
        import io

        try:
            picture = image.image  # of Pillow; None for one that is elsewhere
            if picture is None:
                return
            buffer = io.BytesIO()
            picture.save(buffer, format="PNG")
        except Exception as error:  # noqa: BLE001 - the program continues without it
            self._warn(f"an image of wandb.log is lost: {error}")
            return
        self._send(self._sink.log_image, name, buffer.getvalue(), step)

    def after_define_metric(self, run: Any, name: Any = None, *args: Any, **kwargs: Any) -> None:
        """`define_metric(name, summary="min")`: the lowest value is the final one."""
        summary = kwargs.get("summary", args[3] if len(args) > 3 else None)
        for aggregate in ("min", "max"):
            if isinstance(name, str) and isinstance(summary, str) and aggregate in summary.split(","):
                self._aggregates[name] = aggregate

    def after_summary(self, summary: Any, values: Any = None, *args: Any, **kwargs: Any) -> None:
        """`wandb.summary["best"] = 0.1`, and `wandb.summary.update({...})`."""
        final = self._known(_numbers(values))
        if final:
            self._send(self._sink.summarize, final)

    def _final(self, values: dict[str, float]) -> dict[str, float]:
        final: dict[str, float] = {}
        for name, value in values.items():
            aggregate = self._aggregate_of(name)
            if aggregate is None:
                continue
            best = self._best.setdefault(name, value)
            if best != best or (value < best if aggregate == "min" else value > best):  # NaN is not itself
                best = self._best[name] = value
            final[name] = final[f"{name}.{aggregate}"] = best
        return final

    def _aggregate_of(self, name: str) -> str | None:
        if name in self._aggregates:
            return self._aggregates[name]
        for pattern, aggregate in self._aggregates.items():
            if pattern.endswith("*") and name.startswith(pattern[:-1]):
                return aggregate
        return None

    def _known(self, values: dict[str, float]) -> dict[str, float]:
        """The values without names that Podium rejects."""
        known = {}
        for name, value in values.items():
            if name not in self._names:
                if len(name) > MAX_NAME or len(self._names) >= MAX_NAMES:
                    self._warn(
                        f"{name[:60]!r} and other metrics of wandb.log are dropped: too many names, or too long ones"
                    )
                    continue
                self._names.add(name)
            known[name] = value
        return known

    def _send(self, deliver: Callable[..., None], *args: Any) -> None:
        try:
            deliver(*args)
        except OSError as error:
            self._warn(f"metrics of wandb.log are lost: {error}")

    def _warn(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            print(f"podium: {message}", file=sys.stderr)


def _lock_parameters(run: Any) -> None:
    """Keep the sampled values of a disabled run when the program sets its defaults, as wandb does in other modes."""
    path = os.environ.get("WANDB_SWEEP_PARAM_PATH")
    lock = getattr(getattr(run, "config", None), "update_locked", None)
    if not path or lock is None:
        return
    try:
        import yaml  # wandb depends on it

        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes 5 ms to import
            given = yaml.safe_load(file)
        lock({name: entry["value"] for name, entry in given.items() if isinstance(entry, dict)}, "sweep")
    except Exception as error:  # noqa: BLE001 - the program continues without it
        print(f"podium: failed to lock the parameters in wandb.config: {error}", file=sys.stderr)


def _numbers(data: Any, prefix: str = "", depth: int = 0) -> dict[str, float]:
    """The numbers of a dict by name; nested ones have dotted names, as in wandb."""
    found: dict[str, float] = {}
    if not hasattr(data, "items") or depth > _MAX_DEPTH:
        return found
    for key, value in data.items():
        name = prefix + str(key)
        if isinstance(value, dict):
            found.update(_numbers(value, name + ".", depth + 1))
            continue
        number = _number(value)
        if number is not None:
            found[name] = number
    return found


def _images(data: Any, kind: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The images of a dict by name, also in nested dicts and in lists, whose images are numbered."""
    if kind is None or not hasattr(data, "items") or depth > _MAX_DEPTH:
        return
    for key, value in data.items():
        name = prefix + str(key)
        if isinstance(value, kind):
            yield name, value
        elif isinstance(value, dict):
            yield from _images(value, kind, name + ".", depth + 1)
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], kind):
            images = [each for each in value[:MAX_IMAGES] if isinstance(each, kind)]
            for number, image in enumerate(images):
                yield (name if len(images) == 1 else f"{name}/{number}"), image


def _number(value: Any) -> float | None:
    """A number of Python, numpy or torch as a float; None for anything else."""
    if isinstance(value, (bool, str, bytes)) or "bool" in type(value).__name__:
        return None
    if not isinstance(value, (int, float)) and hasattr(value, "item"):
        try:
            value = value.item()  # numpy scalars, and tensors of one number
        except Exception:  # noqa: BLE001 - arrays of several numbers raise various errors
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _parts(values: dict[str, float]) -> Iterator[dict[str, float]]:
    items = list(values.items())
    for start in range(0, len(items), _NAMES_A_LINE):
        yield dict(items[start : start + _NAMES_A_LINE])
