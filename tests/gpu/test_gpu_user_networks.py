"""Networks of user code, trained and served on a real GPU. Skipped without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from podium.ensemble.worker.in_graph_network import InGraphNetwork
from podium.ensemble.worker.network_loading import load
from tests.networks import combination
from tests.user_nets import nets
from tests.user_rig import NETS, UserRig

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]

KINDS = sorted(nets.SHAPES)
ROWS = np.random.default_rng(1).integers(0, 10, (17, 16)).astype(np.float32)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[UserRig]:
    found = UserRig(tmp_path, torch.device("cuda", 0))
    yield found
    found.close()


def whole(rig: UserRig, kinds: list[str]) -> InGraphNetwork:
    bundle = rig.bundle(NETS)
    files = [rig.finished(bundle, {"kind": kind, "width": 4}, number) for number, kind in enumerate(kinds)]
    rig.forget()
    found = load(files, in_graph=True, combination=combination([1.0] * len(files)))
    assert isinstance(found, InGraphNetwork)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_one_kind_agree_in_every_plan(rig: UserRig, kind: str) -> None:
    ensemble = whole(rig, [kind] * 3)
    before = ensemble.predict(ROWS)
    ensemble.warm(16, budget_s=3.0)
    after = ensemble.predict(ROWS)
    assert not before.failed and not after.failed
    np.testing.assert_allclose(after.predictions, before.predictions, atol=1e-3)


def test_out_of_range_input_fails_only_its_member(rig: UserRig) -> None:
    ensemble = whole(rig, ["embedding", "dropout"])
    ensemble.warm(16, budget_s=3.0)
    found = ensemble.predict(np.full((2, 16), 10, np.float32))
    assert "embedding index out of range" in found.failed[0] and np.isfinite(found.predictions[1]).all()
    assert not ensemble.predict(ROWS).failed
