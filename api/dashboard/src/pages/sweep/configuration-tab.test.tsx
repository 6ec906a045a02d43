// The configuration of a sweep: what reproduces it, its limits, its search space, and its file.
import { screen, within } from "@testing-library/react";
import { sweepFixture } from "../../sweep/fixture";
import type { Sweep } from "../../sweep/sweep";
import { showWithService } from "../../testing/component-test-setup";
import { ConfigurationTab } from "./configuration-tab";

const HASH = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

async function show(changes: Partial<Sweep> = {}) {
  showWithService(<ConfigurationTab sweepId={7} />, {
    "GET /sweeps/7": sweepFixture(changes),
    "GET /sweeps/7/file": new Response("name: digits # <b>text</b>\n"),
  });
  await screen.findByRole("heading", { name: "Reproducibility" });
}

const fact = (name: string) => screen.queryByText(name, { selector: "dt" })?.nextElementSibling?.textContent ?? null;

afterEach(() => vi.unstubAllGlobals());

test("seeds, versions and provenance are listed", async () => {
  await show({
    spec: { seed: 9, program: { model: "mlp", data: { name: "digits" } }, validation: { seed: 4 } },
    provenance: { git_commit: "abc123", git_dirty: true, command: ["podium", "run", "x.yaml"], packages_sha256: HASH },
  });
  expect(fact("Search seed")).toBe("9");
  expect(fact("Split seed")).toBe("4");
  expect(fact("Program")).toBe("built-in model mlp");
  expect(fact("Data")).toBe("digits");
  expect([fact("Podium"), fact("Python")]).toEqual(["0.1.0", "3.12.1"]);
  expect(fact("Git commit")).toBe("abc123 with uncommitted changes");
  expect(fact("Submitted by")).toBe("podium run x.yaml");
  expect(screen.getByRole("link", { name: "0123456789abcdef…" })).toHaveAttribute("href", "/api/v1/sweeps/7/packages");
});

test.each([
  [{ function: "train:objective" }, "function train:objective"],
  [{ command: ["python", "train.py"] }, "command python train.py"],
  [{ script: "train.py" }, "script train.py"],
  [{ imported: "study.db" }, "imported from study.db"],
  [{}, null],
])("the program %j is described as %s", async (program, text) => {
  await show({ spec: { program } });
  expect(fact("Program")).toBe(text);
});

test("without data there is no split", async () => {
  await show({ spec: { program: { function: "train:objective" } } });
  expect([fact("Split seed"), fact("Data")]).toEqual([null, null]);
});

test("a table is described by its file and target", async () => {
  await show({
    spec: { program: { model: "mlp", data: { file: "/data/rows.csv", target: "label", source: "csv:1" } } },
  });
  expect(fact("Data")).toBe("/data/rows.csv, target label");
  expect(fact("Data fingerprint")).toBe("csv:1");
});

test("uploaded code has its hash, shortened", async () => {
  await show({ spec: { program: { function: "a:b", bundle: HASH } } });
  expect(screen.getByTitle(HASH)).toHaveTextContent("0123456789abcdef…");
});

test("limits show what was used and extended", async () => {
  await show({
    run_cap: 36,
    spec: { run_cap: 24 },
    budget: {
      wall_s: { used: 60, allowed: 3_600 },
      device_s: { used: 30, allowed: null },
      plateau: { used: 3, allowed: 10, min_delta: 0 },
      target: { value: 0.99, reached_by: 5 },
    },
  });
  expect(fact("Trials")).toBe("36 (submitted with 24)");
  expect(fact("Time")).toBe("1 min of 1 h");
  expect(fact("Device time")).toBe("30 s, unlimited");
  expect(fact("Plateau")).toBe("stops after 10 trials without improvement; 3 so far");
  expect(fact("Target")).toBe("0.99, reached by trial 5");
});

test("a warm start names its sweeps and what was skipped", async () => {
  await show({
    spec: { warm_start: [3, 4] },
    warm_start: { trials: 12, dropped: 2, why: ["lr is out of range"] } as Sweep["warm_start"],
  });
  expect(fact("Warm start")).toBe("12 trials of  sweep 3 sweep 4; 2 trials skipped: lr is out of range");
});

test("without a budget its limits are left out", async () => {
  await show();
  expect([fact("Time"), fact("Plateau"), fact("Target"), fact("Warm start")]).toEqual([null, null, null, null]);
});

test("the search space is a table", async () => {
  await show({ spec: { parameters: { lr: { min: 0.001, max: 1, log: true }, act: { values: ["relu", "<i>"] } } } });
  const rows = within(screen.getByRole("table")).getAllByRole("row").slice(1);
  expect(rows.map(row => row.textContent)).toEqual(["lrrange0.001 to 1log scale", "actchoicerelu, <i>"]);
});

test("a define-by-run program has no search space", async () => {
  await show({ spec: {} });
  expect(screen.getByText(/define-by-run/)).toBeVisible();
});

test("the file is shown as text with ways to copy, download and reuse it", async () => {
  await show();
  expect(await screen.findByText(/<b>text<\/b>/)).toBeVisible();
  expect(screen.getByRole("link", { name: "Download" })).toHaveAttribute("download", "sweep-7.yaml");
  expect(screen.getByRole("link", { name: "New sweep from this one" })).toHaveAttribute("href", "/new?from=7");
});
