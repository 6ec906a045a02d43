"""What ran on a node, in the devices, the timeline of a sweep and a trial. Only the records are those of a node."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import attempts
from podium.db.stores import devices, nodes
from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.values.device_state import DeviceState
from tests.browser.stage import Stage
from tests.node_reports import node_report
from tests.visitor import Visitor

SOON_MS = 20_000.0
FAR = "b:cpu-0"


class FarTrial(NamedTuple):
    """A finished trial on a device of a node."""

    sweep: int
    id: int


@pytest.fixture
def far(stage: Stage) -> Iterator[FarTrial]:
    """The only trial of its sweep. Its node has left when the test ends."""
    sweep = int(stage.client.submit(stage.quick(name="far away", run_cap=1))["id"])
    stage.client.wait(sweep, 60)
    (trial,) = stage.client.trials(sweep)
    at = time.time()
    device = DeviceChanged(FAR, "cpu", 0, "host-b", "", None, 9, DeviceState.LOST, "its node was switched off", at)
    database = SqliteDatabase(stage.service.data.database)
    with database.write() as connection:
        nodes.record_report(connection, node_report("b", address="10.0.0.6"), at)
        devices.change(connection, [device])
        its_attempt = update(attempts).where(attempts.c.trial_id == trial["id"])
        connection.execute(its_attempt.values(device_id=FAR, node="host-b"))
    yield FarTrial(sweep, int(trial["id"]))
    with database.write() as connection:
        nodes.forget(connection, "b", time.time())
    database.close()


def test_timeline_of_a_sweep_has_the_device_of_a_node(visitor: Visitor, far: FarTrial) -> None:
    page = visitor.open(f"/sweeps/{far.sweep}/devices")
    expect(page.get_by_role("img", name=re.compile(rf"{FAR} was busy \d+ %"))).to_be_visible(timeout=SOON_MS)
    page.get_by_text(re.compile("[Tt]able")).last.click()
    expect(page.get_by_role("row", name=re.compile(FAR)).first).to_be_visible()


def test_page_of_a_trial_names_the_device_of_a_node(visitor: Visitor, far: FarTrial) -> None:
    page = visitor.open(f"/trials/{far.id}")
    expect(page.get_by_role("main")).to_contain_text(FAR, timeout=SOON_MS)


def test_devices_are_listed_below_their_node(visitor: Visitor, far: FarTrial) -> None:
    page = visitor.open("/devices")
    expect(page.get_by_role("rowheader", name=re.compile("^b ready 10.0.0.6"))).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("row", name=re.compile(f"^{FAR}"))).to_contain_text("its node was switched off")
