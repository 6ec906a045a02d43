// An input while its stored value changes.
import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useLayoutEffect } from "react";
import { expect, test, vi } from "vitest";
import { CommitInput } from "./commit-input";

test("a change of the stored value does not overwrite uncommitted text, but replaces committed text", async () => {
  const onCommit = vi.fn();
  const field = (there: string) => <CommitInput stored={there} onCommit={onCommit} aria-label="Trials" />;
  const { rerender } = render(field(""));
  const input = screen.getByLabelText("Trials");
  await userEvent.type(input, "-3");
  rerender(field("24"));
  expect(input).toHaveValue("-3");
  await userEvent.keyboard("{Enter}");
  expect(onCommit.mock.calls).toEqual([["-3"]]);
  rerender(field("5"));
  expect(input).toHaveValue("5");
});

test("a new value is rendered in the same commit, not after an effect", () => {
  const seen: string[] = [];
  function Page({ there }: { there: string }) {
    useLayoutEffect(() => {
      seen.push((screen.getByLabelText("Name") as HTMLInputElement).value);
    });
    return <CommitInput stored={there} onCommit={vi.fn()} aria-label="Name" />;
  }
  const { rerender } = render(<Page there="" />);
  rerender(<Page there="digits" />);
  expect(seen).toEqual(["", "digits"]);
});

test("text is committed when typing pauses, once, and Escape restores the text from before", () => {
  vi.useFakeTimers();
  const onCommit = vi.fn();
  const field = (there: string) => <CommitInput stored={there} onCommit={onCommit} aria-label="Seed" />;
  const { rerender } = render(field("7"));
  const input = screen.getByLabelText("Seed");
  const type = (value: string) => fireEvent.change(input, { target: { value } });
  type("1");
  act(() => vi.advanceTimersByTime(300));
  type("12");
  act(() => vi.advanceTimersByTime(300));
  expect(onCommit).not.toHaveBeenCalled();
  act(() => vi.advanceTimersByTime(200));
  expect(onCommit.mock.calls).toEqual([["12"]]);
  rerender(field("12"));
  fireEvent.blur(input);
  expect(onCommit).toHaveBeenCalledTimes(1);

  type("120");
  act(() => vi.advanceTimersByTime(500));
  rerender(field("120"));
  fireEvent.keyDown(input, { key: "Escape" });
  expect(input).toHaveValue("12");
  expect(onCommit.mock.calls).toEqual([["12"], ["120"], ["12"]]);
  vi.useRealTimers();
});
