// Machines: their order and headings, and the warnings of a node.
import { render, screen } from "@testing-library/react";
import type { Device } from "./device";
import { type Machine, machinesOf, type Node, NodeHeading } from "./nodes";

const NOW = 1_800_000_000;

function node(name: string, changes: Partial<Node> = {}): Node {
  return {
    ...{ name, state: "ready", address: "10.0.0.6", disk_free_bytes: 512e9, clock_offset_s: 0.2 },
    reported_at: new Date((NOW - 40) * 1000).toISOString(),
    ...changes,
  } as Node;
}

const devices = (...ids: string[]) => ids.map(id => ({ id }) as Device);

function heading(machine: Partial<Machine>): string {
  render(
    <table>
      <tbody>
        <NodeHeading machine={{ name: "b", node: null, devices: [], ...machine }} now={NOW} columns={5} />
      </tbody>
    </table>,
  );
  return screen.getByRole("rowheader").textContent;
}

test("machines are the head and the nodes by name, each with its devices", () => {
  const found = machinesOf(devices("c:cpu-0", "cpu-0", "b2:gpu-0", "b:gpu-1"), [node("b"), node("d")]);
  expect(found.map(machine => [machine.name, machine.node?.name, machine.devices.map(device => device.id)])).toEqual([
    ["head", undefined, ["cpu-0"]],
    ["b", "b", ["b:gpu-1"]],
    ["b2", undefined, ["b2:gpu-0"]],
    ["c", undefined, ["c:cpu-0"]],
    ["d", "d", []],
  ]);
});

test("a node is described by its state, address and free disk space", () => {
  expect(heading({ node: node("b") })).toBe("b✓ready10.0.0.6512 GB free");
});

test("the head has a name only", () => {
  expect(heading({ name: "head" })).toBe("head");
});

test.each([
  [1.5, "clock 1.5 s ahead"],
  [-90, "clock 1 min 30 s behind"],
])("a clock offset of %d s is a warning", (clock_offset_s, text) => {
  heading({ node: node("b", { clock_offset_s }) });
  expect(screen.getByText(text)).toHaveClass("devices-warning");
});

test("a silent node says for how long", () => {
  heading({ node: node("b", { state: "silent" }) });
  expect(screen.getByText("no report for 40 s")).toHaveClass("devices-warning");
});

test("a refused node says why it is not used", () => {
  const refused = "this node has podium 9.0";
  expect(heading({ node: node("b", { state: "refused", refused }) })).toBe(`b✕refused10.0.0.6${refused}`);
  expect(screen.getByText(refused)).toHaveClass("devices-warning");
});
