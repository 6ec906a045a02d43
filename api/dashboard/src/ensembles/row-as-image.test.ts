// Conversion of rows to pixels, and painting.
import { type Image, paint, pixelsOf } from "./row-as-image";

const IMAGE: Image = { channels: 1, height: 2, width: 2, low: 0, high: 16 };

test("single-channel pixels are grey, and colours are stored channel by channel", () => {
  expect([...pixelsOf([0, 16, 8, 0], IMAGE)].slice(0, 8)).toEqual([0, 0, 0, 255, 255, 255, 255, 255]);
  const colours: Image = { channels: 3, height: 1, width: 1, low: 0, high: 1 };
  expect([...pixelsOf([1, 0, 0.5], colours)]).toEqual([255, 0, 128, 255]);
});

test("the brush fills only the pixels under it", () => {
  expect(paint([0, 0, 0, 0], IMAGE, 0.5, 0.5, 0.5)).toEqual([16, 0, 0, 0]);
});
