// The controls of the timeline: zoom and pan by buttons and keys, within the limits.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useKeyboard } from "../keyboard";
import { Controls } from "./controls";
import type { Span } from "./visible-span";

const LIMITS = { from: 0, to: 100 };

function Keyboard() {
  useKeyboard();
  return null;
}

function show(span: Span, zoomedIn = true, asTable = false) {
  const [onSpan, onAsTable] = [vi.fn(), vi.fn()];
  render(
    <>
      <Keyboard />
      <Controls {...{ span, zoomedIn, limits: LIMITS, onSpan, asTable, onAsTable }} />
    </>,
  );
  return { onSpan, onAsTable };
}

const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));

test("zooming keeps the middle of the view", async () => {
  const { onSpan } = show({ from: 40, to: 60 });
  await press("Zoom in");
  await press("Zoom out");
  expect(onSpan.mock.calls).toEqual([[{ from: 45, to: 55 }], [{ from: 30, to: 70 }]]);
});

test("panning moves by half a view", async () => {
  const { onSpan } = show({ from: 40, to: 60 });
  await press("Earlier");
  await press("Later");
  expect(onSpan.mock.calls).toEqual([[{ from: 30, to: 50 }], [{ from: 50, to: 70 }]]);
});

test("the end of the timeline cannot be passed", () => {
  show({ from: 80, to: 100 });
  expect(screen.getByRole("button", { name: "Later" })).toBeDisabled();
  expect(screen.getByRole("button", { name: "Earlier" })).toBeEnabled();
});

test("the whole timeline can be restored only from a zoomed view", async () => {
  const { onSpan } = show({ from: 40, to: 60 });
  await press("Show all");
  expect(onSpan).toHaveBeenCalledWith(null);
});

test("without zoom there is nothing to restore", () => {
  show(LIMITS, false);
  expect(screen.queryByRole("button", { name: "Show all" })).toBeNull();
});

test("keys do the same as buttons", async () => {
  const { onSpan, onAsTable } = show({ from: 40, to: 60 });
  await userEvent.keyboard("+-{ArrowLeft}{ArrowRight}0t");
  expect(onSpan.mock.calls.map(([span]) => span && [span.from, span.to])).toEqual([
    [45, 55],
    [30, 70],
    [30, 50],
    [50, 70],
    null,
  ]);
  expect(onAsTable).toHaveBeenCalledWith(true);
});

test("the table button shows its state", () => {
  show(LIMITS, false, true);
  expect(screen.getByRole("button", { name: "Show as table" })).toHaveAttribute("aria-pressed", "true");
});

test("the visible span is announced with its length", () => {
  show({ from: 0, to: 90 });
  expect(screen.getByText("1 min 30 s")).toBeVisible();
});
