// An input while its stored value changes.
import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useLayoutEffect, useState } from "react";
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
  expect(onCommit.mock.calls).toEqual([["-"], ["-3"]]);
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

test("text is committed at each keystroke, once, and Escape restores the text from before", () => {
  const onCommit = vi.fn();
  const field = (there: string) => <CommitInput stored={there} onCommit={onCommit} aria-label="Seed" />;
  const { rerender } = render(field("7"));
  const input = screen.getByLabelText("Seed");
  const type = (value: string) => fireEvent.change(input, { target: { value } });
  type("1");
  type("12");
  expect(onCommit.mock.calls).toEqual([["1"], ["12"]]);
  rerender(field("1"));
  expect(input).toHaveValue("12");
  rerender(field("12"));
  fireEvent.blur(input);
  expect(onCommit).toHaveBeenCalledTimes(2);

  type("120");
  rerender(field("120"));
  fireEvent.keyDown(input, { key: "Escape" });
  expect(input).toHaveValue("12");
  expect(onCommit.mock.calls.slice(2)).toEqual([["120"], ["12"]]);
});

test("the caret stays where a person types, while the stored value follows", async () => {
  function Page() {
    const [stored, setStored] = useState("digits");
    return <CommitInput stored={stored} onCommit={text => setTimeout(() => setStored(text))} aria-label="Name" />;
  }
  render(<Page />);
  const input = screen.getByLabelText<HTMLInputElement>("Name");
  await userEvent.type(input, "-x", { initialSelectionStart: 3, initialSelectionEnd: 3 });
  await act(() => new Promise(resolve => setTimeout(resolve, 5)));
  expect(input).toHaveValue("dig-xits");
  expect(input.selectionStart).toBe(5);
});

test("cleared text is committed on blur, so that its key stays in the file while another value is typed", async () => {
  const onCommit = vi.fn();
  render(<CommitInput stored="7" onCommit={onCommit} aria-label="Seed" />);
  await userEvent.clear(screen.getByLabelText("Seed"));
  expect(onCommit).not.toHaveBeenCalled();
  await userEvent.tab();
  expect(onCommit.mock.calls).toEqual([[""]]);
});

test("Enter in a text of several lines begins a line", async () => {
  const onCommit = vi.fn();
  render(<CommitInput stored="" lines={3} onCommit={onCommit} aria-label="Description" />);
  await userEvent.type(screen.getByLabelText("Description"), "a{Enter}b");
  expect(onCommit).toHaveBeenLastCalledWith("a\nb");
});

test("a field that shows all of its text has no line breaks, and ends at Enter", async () => {
  const onCommit = vi.fn();
  render(<CommitInput whole stored="adam" onCommit={onCommit} aria-label="Values" />);
  const field = screen.getByLabelText("Values");
  fireEvent.change(field, { target: { value: "adam,\n  sgd" } });
  expect(field).toHaveValue("adam, sgd");
  expect(field.parentElement).toHaveAttribute("data-text", "adam, sgd");
  await userEvent.type(field, "{Enter}");
  expect(field).toHaveValue("adam, sgd");
  expect(onCommit.mock.calls).toEqual([["adam, sgd"]]);
});
