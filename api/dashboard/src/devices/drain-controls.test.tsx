// Draining a device: with a reason, the default one, refused, and returned.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Toasts } from "../widgets/toast";
import { type Device, isDrained, kindName, placeOf } from "./device";
import { DrainControls } from "./drain-controls";

const DEVICE = { id: "cuda-1", kind: "gpu", position: 1, node: "a1b2c3d4e5", state: "ready", running: null } as Device;
let sent: { path: string; body: unknown }[];

function show(changes: Partial<Device> = {}, status = 200) {
  sent = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    sent.push({ path: new URL(request.url).pathname, body: await request.json().catch(() => null) });
    return Response.json(status === 200 ? DEVICE : { detail: "no such device" }, { status });
  });
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <DrainControls device={{ ...DEVICE, ...changes }} />
      <Toasts />
    </QueryClientProvider>,
  );
}

afterEach(() => vi.unstubAllGlobals());

const confirm = () => userEvent.click(screen.getByText("Drain", { selector: "button" }));

test("a drain is sent after confirmation, with a reason by default", async () => {
  show();
  await userEvent.click(screen.getByRole("button", { name: "Drain cuda-1" }));
  expect(sent).toEqual([]);
  await confirm();
  expect(sent).toEqual([{ path: "/api/v1/devices/cuda-1/drain", body: { reason: "drained on request" } }]);
  expect(await screen.findByText("cuda-1 drained")).toBeVisible();
});

test("a running trial will finish, and the dialog says so", async () => {
  show({ running: { trial_id: 5, number: 3 } as Device["running"] });
  await userEvent.click(screen.getByRole("button", { name: "Drain cuda-1" }));
  expect(screen.getByText(/Trial 3 will finish\./)).toBeTruthy();
});

test("a refused drain keeps the dialog open with the message", async () => {
  show({}, 404);
  await userEvent.click(screen.getByRole("button", { name: "Drain cuda-1" }));
  await confirm();
  expect((await screen.findByRole("alert", { hidden: true })).textContent).toBe("no such device");
  expect(document.querySelector("dialog")).not.toBeNull();
});

test("a drained device is returned without confirmation", async () => {
  show({ state: "drained" });
  await userEvent.click(screen.getByRole("button", { name: "Return cuda-1" }));
  await waitFor(() => expect(sent).toEqual([{ path: "/api/v1/devices/cuda-1/return", body: null }]));
  expect(await screen.findByText("cuda-1 returned to service")).toBeVisible();
});

test("a device is named by its kind and position", () => {
  expect(placeOf(DEVICE)).toBe("GPU 1");
  expect([kindName("cpu"), kindName("tpu")]).toEqual(["CPU slot", "tpu"]);
});

test("only a device that takes no trials on request is drained", () => {
  expect((["drained", "ready", "lost"] as const).map(state => isDrained({ ...DEVICE, state }))).toEqual([
    true,
    false,
    false,
  ]);
});
