// The drawing pad: keyboard and pointer.
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { DrawingPad } from "./drawing-pad";

const IMAGE = { channels: 1, height: 4, width: 4, low: 0, high: 16 };

function Pad({ onChange }: { onChange: (row: number[]) => void }) {
  const [row, setRow] = useState<number[]>(new Array(16).fill(0));
  return (
    <DrawingPad
      row={row}
      image={IMAGE}
      onChange={next => {
        setRow(next);
        onChange(next);
      }}
    />
  );
}

function show() {
  const rows: number[][] = [];
  const { container } = render(<Pad onChange={row => rows.push(row)} />);
  const canvas = container.querySelector("canvas") as HTMLCanvasElement;
  canvas.setPointerCapture = vi.fn();
  canvas.getBoundingClientRect = () => ({ left: 0, top: 0, width: 40, height: 40 }) as DOMRect;
  return { rows, canvas, cursor: () => container.querySelector<HTMLElement>(".pad-cursor") };
}

const inked = (row: number[] | undefined) => (row ?? []).flatMap((value, at) => (value > 8 ? [at] : []));

test("the space bar paints at the centre first", async () => {
  const { rows } = show();
  screen.getByRole("application").focus();
  await userEvent.keyboard(" ");
  expect(inked(rows[0])).toEqual([10]);
});

test("arrow keys move the cursor without painting, up to the edge", async () => {
  const { rows, cursor } = show();
  screen.getByRole("application").focus();
  await userEvent.keyboard("{ArrowLeft}{ArrowLeft}{ArrowLeft}{ArrowLeft}{ArrowUp}");
  expect(rows).toEqual([]);
  expect([cursor()?.style.left, cursor()?.style.top]).toEqual(["0%", "25%"]);
});

test("Shift with an arrow key draws a line", async () => {
  const { rows } = show();
  screen.getByRole("application").focus();
  await userEvent.keyboard("{Shift>}{ArrowLeft}{ArrowLeft}{/Shift}");
  expect(inked(rows.at(-1))).toEqual([8, 9]);
});

test("the cursor is hidden without focus", async () => {
  const { cursor } = show();
  screen.getByRole("application").focus();
  await userEvent.keyboard("{ArrowLeft}");
  fireEvent.blur(screen.getByRole("application"));
  expect(cursor()).toBeNull();
});

test("other keys are not handled", async () => {
  const { rows, cursor } = show();
  screen.getByRole("application").focus();
  await userEvent.keyboard("a");
  expect([rows.length, cursor()]).toEqual([0, null]);
});

test("the pointer paints while it is pressed", () => {
  const { rows, canvas } = show();
  fireEvent.pointerMove(canvas, { clientX: 5, clientY: 5, buttons: 0 });
  expect(rows).toHaveLength(0);
  fireEvent.pointerDown(canvas, { clientX: 5, clientY: 5, pointerId: 1 });
  fireEvent.pointerMove(canvas, { clientX: 35, clientY: 5, buttons: 1 });
  expect(inked(rows.at(-1))).toEqual([0, 3]);
});
