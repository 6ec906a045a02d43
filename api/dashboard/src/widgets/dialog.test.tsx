// The initial focus of a dialog, and the Enter key.
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Confirm, Dialog } from "./dialog";

HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.open = true;
};

test("focuses the first field, in which Enter confirms", async () => {
  const [run, onClose] = [vi.fn(async () => undefined), vi.fn()];
  render(
    <Confirm title="Tag" action="Tag" run={run} onClose={onClose}>
      <input aria-label="a tag" />
    </Confirm>,
  );
  expect(screen.getByLabelText("a tag")).toHaveFocus();
  await userEvent.keyboard("keep{Enter}");
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(run).toHaveBeenCalledOnce();
});

test("focuses Cancel if there is no field", async () => {
  const [run, onClose] = [vi.fn(async () => undefined), vi.fn()];
  render(
    <Confirm title="Stop" action="Stop it" danger run={run} onClose={onClose}>
      <p>It ends.</p>
    </Confirm>,
  );
  expect(screen.getByRole("button", { name: "Cancel" })).toHaveFocus();
  await userEvent.keyboard("{Enter}");
  expect([run.mock.calls.length, onClose.mock.calls.length]).toEqual([0, 1]);
});

test("a refusal is shown, and the command can be retried", async () => {
  const run = vi.fn(async () => Promise.reject(new Error("not now")));
  render(
    <Confirm title="Stop" action="Stop it" run={run} onClose={vi.fn()}>
      <p>It ends.</p>
    </Confirm>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Stop it" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("not now");
  await userEvent.click(screen.getByRole("button", { name: "Stop it" }));
  expect(run).toHaveBeenCalledTimes(2);
});

test("a dialog without a command has only Close", () => {
  render(
    <Dialog title="Keys" onClose={vi.fn()}>
      <p>Words</p>
    </Dialog>,
  );
  expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
  expect(screen.getByRole("button", { name: "Close" })).toBeVisible();
});
