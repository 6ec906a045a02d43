// Toasts: failures stay until they are closed or another page is opened.
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

test("a failure stays until another page is opened, not when the query changes", () => {
  act(() => toast("refused", "failed"));
  later(60_000);
  act(() => navigate("/sweeps/1?filter=lr"));
  expect(screen.getByRole("alert")).toHaveTextContent("refused");
  act(() => navigate("/devices"));
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a failure reported while another page is opened stays on that page", () => {
  act(() => {
    toast("no such trial", "failed");
    navigate("/sweeps");
  });
  expect(screen.getByRole("alert")).toHaveTextContent("no such trial");
});

test("Escape closes toasts, unless the key was handled elsewhere", () => {
  act(() => toast("refused", "failed"));
  const taken = new KeyboardEvent("keydown", { key: "Escape", cancelable: true });
  taken.preventDefault();
  act(() => void window.dispatchEvent(taken));
  expect(screen.getByRole("alert")).toBeInTheDocument();
  act(() => void fireEvent.keyDown(window, { key: "Escape" }));
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a success disappears after a few seconds", () => {
  act(() => toast("done"));
  expect(screen.getByText("done")).toBeInTheDocument();
  later(6_000);
  expect(screen.queryByText("done")).toBeNull();
});
