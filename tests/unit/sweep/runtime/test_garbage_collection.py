"""What is created without collection is examined by no later collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from podium.sweep.runtime.garbage_collection import without_collection


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Other tests of this process may count objects."""
    yield
    gc.unfreeze()


def test_no_collection_runs_meanwhile_and_none_examines_what_was_created() -> None:
    collections = [each["collections"] for each in gc.get_stats()]
    with without_collection():
        created = [[number] for number in range(10 * gc.get_threshold()[0])]
        assert not gc.isenabled()
        assert [each["collections"] for each in gc.get_stats()] == collections
    assert gc.isenabled()
    examined = {id(each) for each in gc.get_objects()}
    assert not examined & {id(each) for each in created}


def test_collection_is_enabled_again_after_an_error() -> None:
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
