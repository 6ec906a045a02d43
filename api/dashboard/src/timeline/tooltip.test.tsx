// The tooltip of the timeline: what a click does, and its place inside the chart.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Segment } from "./device-bars-and-gaps";
import { barFixture, gapFixture } from "./fixture";
import { Tooltip } from "./tooltip";

function show(piece: Segment, pinned = false, x = 50, width = 800) {
  const [onClose, onOpen] = [vi.fn(), vi.fn()];
  const target = { piece, device: "cpu-0", x, y: 10, pinned };
  const { container } = render(<Tooltip {...target} names={{ 1: "resnet" }} width={width} {...{ onClose, onOpen }} />);
  return { onClose, onOpen, box: container.firstElementChild as HTMLElement };
}

test("a trial is named with its state, device and duration", () => {
  const { box } = show(barFixture(0, 12));
  expect(screen.getByText("Trial 0 of resnet: finished")).toBeVisible();
  expect(box.textContent).toMatch(/cpu-0 · from .*, 12 s/);
  expect(box.textContent).toContain("Click: open the trial · drag: zoom in");
});

test("a running trial has no end yet", () => {
  expect(show(barFixture(0, 12, { isRunning: true })).box.textContent).toMatch(/since .*, 12 s so far/);
});

test("a gap has its kind and its reason", () => {
  const { box } = show(gapFixture(0, 5));
  expect(screen.getByText("No sweep is running")).toBeVisible();
  expect(box.textContent).toContain("Idle · cpu-0");
  expect(box.textContent).toContain("Click: zoom in here");
});

test("a pinned tooltip opens the trial, or closes", async () => {
  const piece = barFixture(0, 12);
  const { onClose, onOpen } = show(piece, true);
  await userEvent.click(screen.getByRole("button", { name: "Open the trial" }));
  expect(onOpen).toHaveBeenCalledWith(piece);
  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  expect(onClose).toHaveBeenCalled();
});

test("merged trials cannot be opened, only zoomed into", () => {
  show(barFixture(0, 12, { attempts: 4, trialId: null }), true);
  expect(screen.getByRole("button", { name: "Zoom in here" })).toBeVisible();
});

test.each([
  [50, 800, "64px"],
  [790, 800, "500px"],
  [100, 200, "0px"],
])("at %s of %s px it starts at %s", (x, width, left) => {
  expect(show(barFixture(0, 12), false, x, width).box.style.left).toBe(left);
});
