"""Creating a sweep without the terminal: form and file in sync, and problems at their lines."""

from __future__ import annotations

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.visitor import Visitor, overflow_px

SOON_MS = 20_000.0


def editor(page: Page) -> str:
    return page.get_by_label("Sweep file").input_value()


def test_form_and_file_stay_in_sync_and_start_sweep(stage: Stage, visitor: Visitor) -> None:
    name = f"from the form {secrets.token_hex(3)}"
    page = visitor.open("/new")
    start = page.get_by_role("button", name="Start the sweep")
    expect(start).to_be_enabled(timeout=SOON_MS)
    page.get_by_label("Name", exact=True).first.fill(name)
    trials = page.get_by_label("Trials", exact=True).first
    trials.fill("-3")
    trials.press("Enter")
    expect(page.get_by_text(re.compile(r"^\d+ problem")).first).to_be_visible(timeout=SOON_MS)
    expect(trials).to_have_attribute("aria-invalid", "true")
    expect(start).to_be_disabled()

    trials.fill("3")
    trials.press("Enter")
    expect(page.get_by_label("Sweep file")).to_have_value(re.compile(name))
    expect(page.get_by_label("Sweep file")).to_have_value(re.compile(r"run_cap: 3\b"))
    text = re.sub(r"epochs: *\{.*?\}", "epochs: {value: 2}", editor(page))
    page.get_by_label("Sweep file").fill(text)
    expect(page.get_by_role("status").filter(has_text="ready to start")).to_be_visible(timeout=SOON_MS)
    start.click()

    expect(page).to_have_url(re.compile(r"/sweeps/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.locator(".sweep-state")).to_contain_text("finished", timeout=60_000)
    page.get_by_role("link", name=re.compile(r"^trial \d+$")).first.click()
    expect(page.get_by_role("main")).to_contain_text("the best so far")


def test_problem_names_its_line_and_links_to_it(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/new")
    expect(page.get_by_label("Name", exact=True).first).to_be_visible()
    page.get_by_label("Sweep file").fill("name: wrong\nmethod: tpee\nmetric: {name: score, goal: maximize}\n")
    where = page.get_by_role("button", name="Line 2")
    expect(where).to_be_visible(timeout=SOON_MS)
    where.click()
    expect(page.get_by_label("Sweep file")).to_be_focused()
    expect(page.get_by_role("button", name="Start the sweep")).to_be_disabled()


@pytest.mark.slow
def test_population_is_edited_in_the_form(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open("/new")
    search = page.get_by_label("Search", exact=True)
    expect(search).to_be_enabled(timeout=SOON_MS)
    search.select_option("pbt")
    step = page.get_by_label("Interval step")
    expect(step).to_have_value("5", timeout=SOON_MS)
    step.fill("2")
    step.press("Enter")
    page.get_by_label("Population", exact=True).fill("8")
    page.get_by_label("Population", exact=True).press("Enter")
    expect(page.get_by_label("Sweep file")).to_have_value(re.compile(r"population: 8"), timeout=SOON_MS)
    assert "step: 2" in editor(page) and "run_cap" not in editor(page)
    expect(page.get_by_label("Trials", exact=True)).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="ready to start")).to_be_visible(timeout=SOON_MS)


TWO_OBJECTIVES = """\
# two objectives, by hand and by form
name: {name}
seed: 3  # as in the paper
metric: {{name: val_accuracy, goal: maximize, target: 99e-2}}  # never reached
parameters:
  lr: {{min: 1e-4, max: 3e-2, log: true}}
  optimizer: {{values: [adam, sgd]}}
  momentum: {{min: 0.0, max: 0.9}}
  epochs: {{value: 2}}
run_cap: 2
program: {{model: mlp, data: {{name: digits}}}}
"""


def test_form_edits_rare_blocks_and_keeps_text_on_reload(stage: Stage, visitor: Visitor) -> None:
    name = f"two objectives {secrets.token_hex(3)}"
    page = visitor.open("/new")
    file, ready = page.get_by_label("Sweep file"), page.get_by_role("status").filter(has_text="ready to start")
    file.fill(TWO_OBJECTIVES.format(name=name))
    expect(ready).to_be_visible(timeout=SOON_MS)

    page.get_by_role("button", name="Add an objective").click()
    expect(page.get_by_role("group", name="Objective 2")).to_be_visible(timeout=SOON_MS)
    page.get_by_role("button", name="Add a condition to momentum").click()
    page.get_by_label("momentum depends on").select_option("optimizer")
    condition = page.get_by_role("group", name="Parameter momentum")
    expect(condition.get_by_label("adam")).to_be_checked(timeout=SOON_MS)
    condition.get_by_label("sgd").click()  # checked once the file contains it
    expect(file).to_have_value(re.compile(r"when: \{optimizer: \[adam, ?sgd\]\}"))
    condition.get_by_label("adam").click()
    expect(file).to_have_value(re.compile(r"when: \{optimizer: sgd\}"))

    page.get_by_text("Seed configurations").click()
    page.get_by_role("button", name="Add a configuration").click()
    page.get_by_label("momentum of configuration 1").fill("0.5")
    page.get_by_label("optimizer of configuration 1").fill("adam")
    page.get_by_label("optimizer of configuration 1").press("Enter")
    expect(page.locator("td.field-problem")).to_contain_text("momentum", timeout=SOON_MS)
    page.get_by_label("optimizer of configuration 1").fill("sgd")
    page.get_by_label("optimizer of configuration 1").press("Enter")
    expect(ready).to_be_visible(timeout=SOON_MS)

    written = file.input_value()
    page.get_by_role("button", name="Start the sweep").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name, timeout=SOON_MS)
    sweep_id = int(page.url.rsplit("/", 1)[1])
    spec = stage.client.sweep(sweep_id)["spec"]
    assert [(metric["name"], metric["goal"]) for metric in spec["metrics"]] == [
        ("val_accuracy", "maximize"),
        ("val_loss", "minimize"),
    ]
    assert spec["parameters"]["momentum"]["when"] == {"optimizer": "sgd"}
    assert spec["enqueue"] == [{"momentum": 0.5, "optimizer": "sgd"}]

    assert "# two objectives" in written and "seed: 3  # as in the paper" in written
    assert "# never reached" in written and "lr: {min: 1e-4, max: 3e-2, log: true}" in written
    assert "target: 99e-2" in written
    page = visitor.open(f"/sweeps/{sweep_id}/configuration")
    expect(page.get_by_label("Sweep file", exact=True)).to_contain_text("as in the paper")
    expect(page.get_by_label("Sweep file", exact=True)).to_contain_text("target: 99e-2")


LONG = """name: long values
method: random
metric: {name: score, goal: maximize}
parameters:
  encoder.block_12.attention.dropout_probability:
    values: [bert-base-uncased-whole-word-masking, roberta-large-openai-detector]
  learning_rate: {min: 0.00012345678901, max: 0.98765432109876, log: true}
  layers: {min: 1, max: 3}
run_cap: 3
program: {model: mlp, data: {name: digits}}
"""
CUT = """() => [...document.querySelectorAll('.new-parameter textarea, .new-parameter-name')]
  .filter(each => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1)
  .map(each => each.value ?? each.textContent)"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [(390, 844), pytest.param((1440, 900), marks=pytest.mark.slow), pytest.param((2560, 1440), marks=pytest.mark.slow)],
)
def test_long_names_and_values_of_parameters_are_shown_in_full(stage: Stage, size: tuple[int, int]) -> None:
    with stage.visitor(size=size) as visitor:
        page = visitor.open("/new")
        page.get_by_label("Sweep file").fill(LONG)
        values = page.get_by_label("Values of encoder.block_12.attention.dropout_probability")
        expect(values).to_have_value(re.compile("openai-detector"), timeout=SOON_MS)
        assert page.evaluate(CUT) == []
        assert overflow_px(page) <= 0
        low, high = (page.get_by_label(f"{end} bound of layers").bounding_box() for end in ("Lower", "Upper"))
        assert low and high and low["y"] == high["y"]  # short ones are in one row
        values.fill("bert\nroberta")
        values.press("Enter")
        expect(page.get_by_label("Sweep file")).to_have_value(re.compile("bert roberta"))
