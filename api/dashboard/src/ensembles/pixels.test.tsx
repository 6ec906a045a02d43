// A row of image data as a picture.
import { render, screen } from "@testing-library/react";
import { Pixels } from "./pixels";

const IMAGE = { channels: 1, height: 4, width: 4, low: 0, high: 16 };

test("a picture keeps its aspect ratio and is hidden unless it has a label", () => {
  const wide = { ...IMAGE, height: 2, width: 4 };
  const row = new Array(8).fill(0);
  const { container, rerender } = render(<Pixels row={row} image={wide} size={80} />);
  const canvas = container.querySelector("canvas") as HTMLCanvasElement;
  expect([canvas.style.width, canvas.style.height]).toEqual(["80px", "40px"]);
  expect(canvas).toHaveAttribute("aria-hidden", "true");
  rerender(<Pixels row={row} image={wide} size={80} label="The values as a picture" />);
  expect(screen.getByRole("img", { name: "The values as a picture" })).toBe(canvas);
});
