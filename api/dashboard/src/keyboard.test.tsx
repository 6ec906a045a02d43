// Keyboard shortcuts of a page, which ignore keys that the focused element handles.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { useKeyboard, useKeys } from "./keyboard";

function Page({ pan, find }: { pan: () => void; find: () => void }) {
  useKeyboard();
  useKeys("Page", { ArrowLeft: { does: "pan", run: pan }, "g f": { does: "find", run: find } });
  return (
    <>
      <input aria-label="name" />
      <button type="button">later</button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <section aria-label="scrolls" tabIndex={0} />
    </>
  );
}

test("fields keep their keys, and scrollable elements keep arrow keys", async () => {
  const [pan, find] = [vi.fn(), vi.fn()];
  render(<Page pan={pan} find={find} />);
  await userEvent.type(screen.getByLabelText("name"), "gf{ArrowLeft}");
  screen.getByRole("region").focus();
  await userEvent.keyboard("{ArrowLeft}");
  expect([pan, find].map(each => each.mock.calls.length)).toEqual([0, 0]);
  screen.getByRole("button").focus();
  await userEvent.keyboard("{ArrowLeft}gf");
  expect([pan, find].map(each => each.mock.calls.length)).toEqual([1, 1]);
});
