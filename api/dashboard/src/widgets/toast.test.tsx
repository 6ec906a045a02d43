// How long notes stay: failures until they are closed, by Escape too, or another page is opened.
import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { navigate } from "wouter/use-browser-location";
import { Toasts, toast } from "./toast";

beforeEach(() => {
  vi.useFakeTimers();
  window.history.replaceState(null, "", "/sweeps/1");
  render(<Toasts />);
});
afterEach(() => {
  act(() => void fireEvent.keyDown(window, { key: "Escape" }));
  vi.useRealTimers();
});

const later = (ms: number) => act(() => void vi.advanceTimersByTime(ms));

test("a failure stays while the page does, through changes of its query too, and goes with it", () => {
  act(() => toast("refused", "failed"));
  later(60_000);
  act(() => navigate("/sweeps/1?filter=lr"));
  expect(screen.getByRole("alert")).toHaveTextContent("refused");
  act(() => navigate("/devices"));
  expect(screen.queryByRole("alert")).toBeNull();
});

test("what is said in the step that opens another page stays there", () => {
  act(() => {
    toast("no such trial", "failed");
    navigate("/sweeps");
  });
  expect(screen.getByRole("alert")).toHaveTextContent("no such trial");
});

test("Escape closes notes, unless the key is for something else", () => {
  act(() => toast("refused", "failed"));
  const taken = new KeyboardEvent("keydown", { key: "Escape", cancelable: true });
  taken.preventDefault();
  act(() => void window.dispatchEvent(taken));
  expect(screen.getByRole("alert")).toBeInTheDocument();
  act(() => void fireEvent.keyDown(window, { key: "Escape" }));
  expect(screen.queryByRole("alert")).toBeNull();
});

test("what was done is shown for a while", () => {
  act(() => toast("done"));
  expect(screen.getByText("done")).toBeInTheDocument();
  later(6_000);
  expect(screen.queryByText("done")).toBeNull();
});
