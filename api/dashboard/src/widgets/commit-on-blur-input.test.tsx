// An input while its stored value changes.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useLayoutEffect } from "react";
import { expect, test, vi } from "vitest";
import { CommitOnBlurInput } from "./commit-on-blur-input";

test("a change of the stored value does not overwrite uncommitted text, but replaces committed text", async () => {
  const onCommit = vi.fn();
  const field = (there: string) => <CommitOnBlurInput stored={there} onCommit={onCommit} aria-label="Trials" />;
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
    return <CommitOnBlurInput stored={there} onCommit={vi.fn()} aria-label="Name" />;
  }
  const { rerender } = render(<Page there="" />);
  rerender(<Page there="digits" />);
  expect(seen).toEqual(["", "digits"]);
});
