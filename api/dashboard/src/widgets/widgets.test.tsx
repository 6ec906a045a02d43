// Shared widgets: badges, fields, states, tabs, copying, errors, and unknown addresses.
import type { UseQueryResult } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { ApiError } from "../api";
import { Button } from "./button";
import { CopyButton } from "./copy-button";
import { ErrorBoundary } from "./error-boundary";
import { Field } from "./field";
import { NotFound } from "./not-found";
import { Failure, QueryResult } from "./query-states";
import { RelativeTime } from "./relative-time";
import { StateBadge, stateStyle } from "./state-badge";
import { Tabs } from "./tabs";
import { attempt, Toasts } from "./toast";

test.each([
  ["drained", "drained"],
  ["half_open", "half open"],
  ["finished", "finished"],
  ["unheard_of", "unheard of"],
])("the state %s is labelled %s", (state, label) => {
  const { container } = render(<StateBadge state={state} />);
  expect(container.textContent).toContain(label);
});

test("an unknown state has a neutral style", () => expect(stateStyle("unheard_of").tone).toBe("waiting"));

test("the icon of a state is hidden from screen readers", () => {
  render(<StateBadge state="failed" />);
  expect(screen.getByText("✕")).toHaveAttribute("aria-hidden", "true");
});

test("a field is described by its hint and its problem", () => {
  render(
    <Field label="Trials" hint="At most 1,000" problem="Must be a number">
      <input />
    </Field>,
  );
  const input = screen.getByLabelText("Trials");
  expect(input).toHaveAccessibleDescription("At most 1,000 Must be a number");
  expect(input).toHaveAttribute("aria-invalid", "true");
});

test("a field without problem is valid", () => {
  render(
    <Field label="Trials">
      <input />
    </Field>,
  );
  expect(screen.getByLabelText("Trials")).not.toHaveAttribute("aria-invalid");
  expect(screen.getByLabelText("Trials")).not.toHaveAttribute("aria-describedby");
});

test("a busy button cannot be pressed again", async () => {
  const onClick = vi.fn();
  render(
    <Button busy onClick={onClick}>
      Save
    </Button>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(onClick).not.toHaveBeenCalled();
});

test.each([
  [new ApiError(404, "there is no sweep 9"), "Not found"],
  [new ApiError(0, "The service is not responding."), "No response"],
  [new Error("broken"), "Failed to load"],
])("%s has the title %s", (error, title) => {
  render(<Failure error={error} />);
  expect(screen.getByRole("heading", { name: title })).toBeVisible();
  expect(screen.getByText(error.message)).toBeVisible();
  expect(screen.queryByRole("button")).toBeNull();
});

test.each([
  [true, 1],
  [false, 2],
])("the title of a failure in place of a page, %s, is a heading of level %s", (isPage, level) => {
  render(<Failure error={new Error("broken")} isPage={isPage} />);
  expect(screen.getByRole("heading", { level })).toHaveTextContent("Failed to load");
});

const result = (query: object) =>
  render(<QueryResult query={query as UseQueryResult<string>}>{data => data}</QueryResult>);

test("existing data stays visible after an error", () => {
  expect(result({ data: "kept", isError: true, error: new Error("x") }).container.textContent).toBe("kept");
});

test("a failed query can be retried", async () => {
  const refetch = vi.fn();
  result({ data: undefined, isError: true, error: new Error("x"), refetch });
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(refetch).toHaveBeenCalled();
});

test("a loading query is announced", () => {
  result({ data: undefined, isError: false });
  expect(screen.getByRole("status", { name: "Loading" })).toBeVisible();
});

test("tabs keep the query and mark the current one", () => {
  window.history.replaceState(null, "", "/sweeps/3/table?filter=lr");
  const tabs = [
    { key: "table", name: "Table", href: "/sweeps/3/table" },
    { key: "curves", name: "Curves", href: "/sweeps/3/curves" },
  ];
  render(<Tabs tabs={tabs} current="table" label="Views" />);
  expect(screen.getByRole("link", { name: "Curves" })).toHaveAttribute("href", "/sweeps/3/curves?filter=lr");
  expect(screen.getByRole("link", { name: "Table" })).toHaveAttribute("aria-current", "page");
});

test("text is copied, and shown if the clipboard is denied", async () => {
  const user = userEvent.setup();
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  render(
    <>
      <CopyButton text="abc123" what="the hash" />
      <Toasts />
    </>,
  );
  await user.click(screen.getByRole("button", { name: "Copy the hash" }));
  expect(write).toHaveBeenCalledWith("abc123");
  write.mockRejectedValue(new Error("denied"));
  await user.click(screen.getByRole("button", { name: "Copy the hash" }));
  expect(await screen.findByText(/denied access to the clipboard\. Copy this text: abc123/)).toBeVisible();
  write.mockRestore();
});

test("a broken page shows its error and can be opened again", async () => {
  let broken = true;
  const Page = () => {
    if (broken) throw new Error("undefined is not a function");
    return <p>page</p>;
  };
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  render(
    <ErrorBoundary>
      <Page />
    </ErrorBoundary>,
  );
  expect(screen.getByText("undefined is not a function")).toBeVisible();
  broken = false;
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(screen.getByText("page")).toBeVisible();
  log.mockRestore();
});

test("an unknown address sets the title of the tab", () => {
  render(
    <NotFound title="Page not found" hint="It may have moved.">
      {null}
    </NotFound>,
  );
  expect(document.title).toBe("Page not found · Podium");
  expect(screen.getByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
});

test("a relative time has the exact time as title", () => {
  render(<RelativeTime time={new Date(Date.now() - 120_000).toISOString()} />);
  expect(screen.getByText("2 min ago").title).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
});

test("a command reports success or the reason for its failure", async () => {
  render(<Toasts />);
  expect(await attempt(async () => 1, "Saved")).toBe(true);
  expect(await attempt(() => Promise.reject(new Error("read-only")), "Saved")).toBe(false);
  expect(await screen.findByText("Saved")).toBeVisible();
  expect(await screen.findByText("read-only")).toBeVisible();
});
