// The command palette: results and actions by keyboard only.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useEffect, useState } from "react";
import { basket, clear } from "../basket/comparison-basket";
import { useKeys } from "../keyboard";
import { showWithService } from "../testing/component-test-setup";
import { Palette } from "./palette";
import { usePaletteActions } from "./palette-actions";

const FOUND = [
  { kind: "sweep", id: 7, name: "resnet", detail: "sweep 7, running", sweep_id: null, number: null },
  { kind: "trial", id: 70, name: "Trial 3", detail: "finished, sweep 7: resnet", sweep_id: 7, number: 3 },
  { kind: "project", id: null, name: "my project", detail: "2 sweeps", sweep_id: null, number: null },
];
const ran: string[] = [];
const closed = vi.fn();

function Page() {
  usePaletteActions([{ name: "Archive: resnet", run: () => ran.push("archive") }]);
  useKeys("Global", {
    "g d": { does: "go to the devices", run: () => ran.push("devices") },
    j: { does: "next row", run: () => ran.push("next") },
  });
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(true), []); // after the page has registered its actions
  return isOpen && <Palette onClose={closed} />;
}

beforeEach(() => {
  ran.length = 0;
  closed.mockClear();
  clear();
  window.history.replaceState(null, "", "/");
});
afterEach(() => vi.unstubAllGlobals());

const options = () => screen.getAllByRole("option").map(option => option.textContent);

test("the service is asked for words, and Enter opens the chosen result", async () => {
  const sent = showWithService(<Page />, { "GET /search": FOUND });
  await userEvent.type(screen.getByRole("combobox"), "res");
  await waitFor(() => expect(sent.at(-1)?.query.get("q")).toBe("res"));
  expect(await screen.findByText("Trial 3")).toBeTruthy();
  await userEvent.keyboard("{ArrowDown}{Enter}");
  expect(window.location.pathname).toBe("/sweeps/7/trials/3");
  expect(closed).toHaveBeenCalledOnce();
});

test("a project opens the list with its filter", async () => {
  showWithService(<Page />, { "GET /search": FOUND });
  await screen.findByText("my project");
  await userEvent.keyboard("{ArrowDown}{ArrowDown}{Enter}");
  expect(new URLSearchParams(window.location.search).get("q")).toBe('project:"my project"');
});

test("actions of the page and shortcuts are found by words and run after the palette has closed", async () => {
  showWithService(<Page />, { "GET /search": [] });
  expect(options()).toEqual(["Archive: resnet", "Go to the devicesGlobalg d"]);
  await userEvent.type(screen.getByRole("combobox"), "devices go");
  expect(options()).toEqual(["Go to the devicesGlobalg d"]);
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(ran).toEqual(["devices"]));
});

test("Shift-Enter adds to the comparison and keeps the palette open", async () => {
  showWithService(<Page />, { "GET /search": FOUND });
  await screen.findByText("Trial 3");
  await userEvent.keyboard("{Shift>}{Enter}{/Shift}{ArrowDown}{Shift>}{Enter}{/Shift}");
  expect(basket()).toEqual({ sweeps: [7], trials: [70] });
  expect(closed).not.toHaveBeenCalled();
});

test("an empty result and an error are shown", async () => {
  showWithService(<Page />, { "GET /search": () => Response.json({ detail: "the service is busy" }, { status: 503 }) });
  await userEvent.type(screen.getByRole("combobox"), "zzz");
  expect(await screen.findByText("the service is busy")).toBeTruthy();
  expect(screen.getByText("Nothing found")).toBeTruthy();
});
