// The canvas of the timeline: bars, gap patterns, labels that fit, lanes and the selection.
import { recordingContext } from "../testing/recording-canvas";
import type { Bar, Why } from "./device-bars-and-gaps";
import { AXIS, drawing, type Scene } from "./draw";
import { barFixture, gapFixture } from "./fixture";
import { paintBar, paintGap, paintText } from "./segment-styles";

const BOX = { x: 10, y: 5, width: 80, height: 16 };
const barCalls = (changes: Partial<Bar>, muted = false, box = BOX) => {
  const { context, calls } = recordingContext();
  paintBar(context, barFixture(0, 10, changes), box, muted);
  return calls;
};

test("a bar is a rounded box, a thin one a plain one", () => {
  expect(barCalls({})[1]).toMatchObject({ name: "roundRect", args: [10, 5, 80, 16, 2] });
  expect(barCalls({}, false, { ...BOX, width: 2 })[0]).toMatchObject({ name: "fillRect", args: [10, 5, 2, 16] });
});

test("a muted bar is fainter", () => {
  const alpha = (muted: boolean) => barCalls({}, muted).find(call => call.name === "fill")?.state.globalAlpha;
  expect([alpha(false), alpha(true)]).toEqual([1, 0.6]);
});

test("merged trials are paler the less of the time they ran", () => {
  const alpha = (busy: number) => barCalls({ attempts: 5, busy }).find(call => call.name === "fill")?.state.globalAlpha;
  expect(Number(alpha(1))).toBeLessThan(Number(alpha(9)));
});

test("failures among merged trials are marked", () => {
  expect(barCalls({ attempts: 5, failed: 1 }).filter(call => call.name === "fillRect")).toHaveLength(1);
  expect(barCalls({ attempts: 5, failed: 1 }, true).filter(call => call.name === "fillRect")).toHaveLength(0);
});

test("a running bar has an open end", () => {
  const edge = barCalls({ isRunning: true }).filter(call => call.name === "fillRect");
  expect(edge.length).toBeGreaterThan(1);
  expect(edge.every(call => call.args[0] === BOX.x + BOX.width - 2)).toBe(true);
});

test("gaps are told apart by pattern, not by colour alone", () => {
  const pattern = (why: Why) => {
    const { context, calls } = recordingContext();
    paintGap(context, why, BOX);
    return JSON.stringify(calls.map(call => [call.name, call.args]));
  };
  const kinds: Why[] = ["idle", "dedicated", "drained", "lost"];
  expect(new Set(kinds.map(pattern)).size).toBeGreaterThan(2);
});

test("a pattern stays inside its gap, and a very thin gap has none", () => {
  const { context, calls } = recordingContext();
  paintGap(context, "drained", BOX);
  const names = calls.map(call => call.name);
  expect(names.indexOf("clip")).toBeLessThan(names.indexOf("stroke"));
  expect(names.at(-1)).toBe("restore");
  const thin = recordingContext();
  paintGap(thin.context, "drained", { ...BOX, width: 2 });
  expect(thin.calls).toHaveLength(1);
});

test.each([
  ["17", 80, "17"],
  ["a long reason for this gap", 80, "a long rea…"],
  ["a long reason for this gap", 40, undefined],
  ["17", 15, undefined],
  ["", 80, undefined],
])("%j on %s px is written as %j", (text, width, shown) => {
  const { context, named } = recordingContext();
  paintText(context, text, "--text", { ...BOX, width });
  expect(named("fillText")[0]?.args[0]).toBe(shown);
});

const SCENE: Scene = {
  lanes: [
    { id: "cpu-0", bars: [barFixture(0, 10)], gaps: [gapFixture(10, 20)] },
    { id: "cpu-1", bars: [barFixture(5, 20), barFixture(500, 600)], gaps: [] },
  ],
  span: { from: 0, to: 20 },
  lane: 30,
  sweepId: null,
  matching: null,
  lit: null,
  dragged: null,
};

function draw(changes: Partial<Scene> = {}) {
  const recording = recordingContext();
  drawing({ ...SCENE, ...changes })(recording.context, { width: 400, height: 60 + AXIS });
  return recording;
}

test("each device has a lane, and bars out of view are not drawn", () => {
  const boxes = draw()
    .named("roundRect")
    .map(call => call.args);
  expect(boxes).toHaveLength(2);
  expect(boxes[0]?.slice(0, 3)).toEqual([0, 4, 199]);
  expect(boxes[1]?.[1]).toBe(34);
});

test("times are placed proportionally", () => {
  const [, second] = draw().named("roundRect");
  expect(second?.args[0]).toBe(100);
});

test("the selected span covers the lanes, not the axis", () => {
  const selection = draw({ dragged: { from: 5, to: 10 } })
    .named("fillRect")
    .at(-1);
  expect(selection?.args).toEqual([100, 0, 100, 60]);
});
