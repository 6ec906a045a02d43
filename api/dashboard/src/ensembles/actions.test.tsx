// Commands on an ensemble: available by state and role, confirmed, sent, and reported.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import { EnsembleActions } from "./actions";
import { ENSEMBLE } from "./fixture";

const show = (state: string, role?: string, answers = {}) =>
  showWithService(<EnsembleActions ensemble={{ ...ENSEMBLE, state }} />, answers, role);
const buttons = () => screen.queryAllByRole("button").map(button => button.textContent);

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["ready", "admin", ["Stop", "Retire"]],
  ["stopped", "submitter", ["Start", "Retire"]],
  ["retired", "admin", []],
  ["ready", "viewer", []],
])("an ensemble that is %s offers a %s %j", (state, role, names) => {
  show(state, role);
  expect(buttons()).toEqual(names);
});

test("a start is sent without confirmation", async () => {
  const sent = show("stopped", "admin", { "POST /ensembles/3/start": ENSEMBLE });
  await userEvent.click(screen.getByRole("button", { name: "Start" }));
  expect(await screen.findByText("Starting small-1")).toBeVisible();
  expect(sent.map(one => `${one.method} ${one.path}`)).toEqual(["POST /ensembles/3/start"]);
});

test.each([
  ["Stop", "stop", "small-1 stopped"],
  ["Retire", "retire", "small-1 retired"],
])("%s asks for confirmation first", async (name, path, message) => {
  const sent = show("ready", "admin", { [`POST /ensembles/3/${path}`]: ENSEMBLE });
  await userEvent.click(screen.getByRole("button", { name }));
  expect(sent).toEqual([]);
  const dialog = document.querySelector("dialog") as HTMLElement;
  await userEvent.click([...dialog.querySelectorAll("button")].find(each => each.textContent === name) as HTMLElement);
  expect(await screen.findByText(message)).toBeVisible();
  expect(sent.map(one => one.path)).toEqual([`/ensembles/3/${path}`]);
});

test("the cancel button closes the dialog and sends nothing", async () => {
  const sent = show("ready");
  await userEvent.click(screen.getByRole("button", { name: "Retire" }));
  await userEvent.click(screen.getByText("Cancel"));
  await waitFor(() => expect(document.querySelector("dialog")).toBeNull());
  expect(sent).toEqual([]);
});

test("a failed start is reported", async () => {
  show("stopped", "admin", {
    "POST /ensembles/3/start": () => Response.json({ detail: "no device is free" }, { status: 409 }),
  });
  await userEvent.click(screen.getByRole("button", { name: "Start" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("no device is free");
});
