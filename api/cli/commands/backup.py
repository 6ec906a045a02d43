"""`podium backup` and `podium restore`: a service with its files, in a folder or an object store; CLI."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DatabaseUrlFile, DataDir
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DataDirectoryError

Place = Annotated[str, typer.Argument(metavar="DIR|URL", help="a folder, or s3://, gs://, az:// or file://")]
Credentials = Annotated[
    Path | None, typer.Option(metavar="FILE", help="of the object store, as NAME=VALUE; default: the environment")
]


def backup(
    place: Place,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    datasets: Annotated[bool, typer.Option("--datasets", help="include the prepared arrays of data sets")] = False,
    credentials: Credentials = None,
    url_file: DatabaseUrlFile = None,
    as_json: AsJson = False,
) -> None:
    """Back up the database and the files that it names. The service may be running.

    Contents that the backup has already are not copied again. Exits with 1 if a file of the service is missing or
    damaged; everything else is in the backup then.
    """
    data = DataDirectory(data_dir.absolute())
    if not data.root.is_dir():
        raise DataDirectoryError(f"there is no data directory {data.root}; name another with --data-dir")
    options = [*_credentials(credentials), *_database(data, url_file), *(["--datasets"] if datasets else [])]
    done = lazy_imports.database_subprocess.run_reporting(
        "copies.full_backup", data.root, _absolute(place), *options, say=_progress
    )
    if as_json:
        lazy_imports.terminal_output.print_json(done)
    else:
        _print(
            f"{done['place']}: snapshot {done['snapshot']}, {done['files']:,} files, {_size(done['bytes'])}; "
            f"{done['copied_files']:,} files copied, {_size(done['copied_bytes'])}"
        )
        if done["removed"]:
            _print(f"note: the service removed {done['removed']:,} files meanwhile; the snapshot records that")
        _print_problems(done["problems"], done["problem_count"])
    raise typer.Exit(1 if done["problem_count"] else 0)


def restore(
    place: Place,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    snapshot: Annotated[str | None, typer.Option(metavar="NAME", help="default: the newest")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="print the names of the snapshots")] = False,
    credentials: Credentials = None,
    url_file: DatabaseUrlFile = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into a new data directory.

    If it is interrupted, the same command continues it.
    """
    data = DataDirectory(data_dir.absolute())
    options = [*_credentials(credentials), *_database(data, url_file)]
    if list_them:
        found = lazy_imports.database_subprocess.run_reporting(
            "copies.full_restore", _absolute(place), data.root, "--list", *options, say=_progress
        )
        _print_list(found, as_json)
        return
    if snapshot is not None:
        options += ["--snapshot", snapshot]
    try:
        data.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise DataDirectoryError(f"cannot create {data.root}: {error.strerror}") from error
    with lazy_imports.all_services_locked(data, "give a new folder with --data-dir"):
        done = lazy_imports.database_subprocess.run_reporting(
            "copies.full_restore", _absolute(place), data.root, *options, say=_progress
        )
    if as_json:
        lazy_imports.terminal_output.print_json(done)
        return
    made = datetime.fromtimestamp(done["created_at"]).astimezone()
    _print(f"{done['data_dir']}: {done['files']:,} files, {_size(done['bytes'])}, as of {made:%Y-%m-%d %H:%M:%S}")
    _print_problems(done["problems"], len(done["problems"]))
    _print(f"start it with `podium serve --data-dir {done['data_dir']}`")


def _print_list(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        for name in found["snapshots"]:
            _print(name)


def _print_problems(problems: list[str], count: int) -> None:
    for problem in problems:
        _print(f"problem: {problem}")
    if count > len(problems):
        _print(f"and {count - len(problems):,} more, listed in the snapshot")


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).absolute())


def _credentials(file: Path | None) -> list[str]:
    return [] if file is None else ["--credentials", str(file.absolute())]


def _database(data: DataDirectory, url_file: Path | None) -> list[str]:
    if not lazy_imports.database_binding.is_postgres(data, url_file):
        return []
    file = lazy_imports.database_binding.url_file_of(data, url_file)
    return ["--postgres", *([] if file is None else ["--url-file", str(file.absolute())])]


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _print(line: str) -> None:
    lazy_imports.terminal_output.console.print(line, soft_wrap=True, markup=False)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
