// The dialog that extends a sweep: its request, its effect, its fields, and refusals.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import { ExtendDialog, extensionOf } from "./extend";
import { sweepFixture } from "./fixture";
import type { Sweep } from "./sweep";

const NONE = { used: 0, allowed: null };
const FORM = { cap: "24", priority: "1", wall: "", device: "", target: "" };

function show(changes: Partial<Sweep> = {}, answer: unknown = {}) {
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  const [onDone, onClose] = [vi.fn(), vi.fn()];
  const sweep = sweepFixture(changes);
  const sent = showWithService(<ExtendDialog sweep={sweep} onDone={onDone} onClose={onClose} />, {
    "PATCH /sweeps/7": answer,
  });
  return { sent, onDone, onClose };
}

async function type(label: string, text: string) {
  await userEvent.clear(screen.getByLabelText(label));
  if (text) await userEvent.type(screen.getByLabelText(label), text);
}
const extend = () => screen.getByText("Extend the sweep");

afterEach(() => vi.unstubAllGlobals());

test("without changes nothing can be sent", () => {
  show();
  expect(screen.getByText("No changes")).toBeTruthy();
  expect(extend()).toBeDisabled();
});

test("invalid fields are counted as such and named", async () => {
  show();
  await type("Total trials", "20");
  expect(screen.getByText("Fix the highlighted fields")).toBeTruthy();
  expect(screen.getByLabelText("Total trials")).toHaveAttribute("aria-invalid", "true");
  expect(extend()).toBeDisabled();
});

test.each([
  ["Total trials", "", "Enter a number of trials"],
  ["Priority", "0", "Must be between 0.01 and 100"],
  ["Time, in seconds", "-1", "Must be greater than 0"],
  ["Device time, in seconds", "soon", "Must be a number"],
])("%s with %j says %s", async (label, text, problem) => {
  show();
  await type(label, text);
  expect(screen.getByText(problem)).toBeTruthy();
});

test("seconds are read back as a duration", async () => {
  show();
  await type("Time, in seconds", "5400");
  expect(screen.getByText("1 h 30 min")).toBeTruthy();
});

test("an emptied limit is removed, an emptied target too", async () => {
  const budget = {
    wall_s: { used: 1, allowed: 3_600 },
    device_s: { used: 0, allowed: null },
    plateau: null,
    target: { value: 0.99, reached_by: null },
  };
  const { sent } = show({ budget });
  await type("Time, in seconds", "");
  await type("Target of val_accuracy", "");
  await userEvent.click(extend());
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ budget: { wall_s: null }, target: null });
});

test("an extension closes the dialog when it is accepted", async () => {
  const { onDone, onClose } = show();
  await type("Total trials", "25");
  await userEvent.click(extend());
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(onDone).toHaveBeenCalled();
});

test("a refusal stays in the dialog", async () => {
  const { onClose } = show({}, () => Response.json({ detail: "the sweep is cancelled" }, { status: 409 }));
  await type("Total trials", "25");
  await userEvent.click(extend());
  expect((await screen.findByRole("alert", { hidden: true })).textContent).toBe("the sweep is cancelled");
  expect(onClose).not.toHaveBeenCalled();
});

test("a finished sweep that has trials left can continue unchanged", () => {
  show({ state: "finished" });
  expect(screen.getByText("Up to 12 more trials. The search continues with all previous trials.")).toBeTruthy();
  expect(extend()).toBeEnabled();
});

test("an extension contains only what was changed", () => {
  expect(extensionOf(sweepFixture(), FORM)).toEqual({ body: {}, problems: {} });
  expect(extensionOf(sweepFixture(), { ...FORM, cap: "30", wall: "60" }).body).toEqual({
    run_cap: 30,
    budget: { wall_s: 60 },
  });
  const bounded = sweepFixture({
    budget: { wall_s: { used: 1, allowed: 9 }, device_s: NONE, plateau: null, target: null },
  });
  expect(extensionOf(bounded, FORM).body).toEqual({ budget: { wall_s: null } });
});

test("invalid fields of an extension are reported by name", () => {
  const { problems } = extensionOf(sweepFixture(), { cap: "20", priority: "0", wall: "-1", device: "x", target: "y" });
  expect(Object.keys(problems)).toEqual(["cap", "priority", "wall", "device", "target"]);
  expect(problems.cap).toContain("at least 24");
});
