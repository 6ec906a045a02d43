// Parsing of pasted rows, and conversion of rows to pixels.
import { columnsOf, type Image, likeliest, paint, parseRow, pixelsOf } from "./image-row";

const IMAGE: Image = { channels: 1, height: 2, width: 2, low: 0, high: 16 };

test.each(["1, 2, 3", "[1 2 3]", "1;2;3\n", " 1\t2\n3 "])("%j is parsed as three numbers", text => {
  expect(parseRow(text, 3)).toEqual([1, 2, 3]);
});

test.each([
  ["", "Paste 3 numbers"],
  ["1, x, 3", "“x” (value 2) is not a number"],
  ["1, 2", "Expected 3 numbers, got 2"],
  ["1, 2, Infinity", "value 3"],
])("%j is refused: %s", (text, message) => {
  expect(() => parseRow(text, 3)).toThrow(message);
});

test("the most likely class is the first of equals", () => {
  expect(likeliest([0.4, 0.4, 0.2])).toEqual({ index: 0, share: 0.4 });
});

test("only the most likely classes of any answer have a column, in class order", () => {
  const answers = [
    [0.1, 0.8, 0.0, 0.1],
    [0.0, 0.2, 0.1, 0.7],
  ];
  expect(columnsOf(answers, 2)).toEqual([1, 3]);
  expect(columnsOf(answers, 9)).toEqual([0, 1, 2, 3]);
});

test("single-channel pixels are grey, and colours are stored channel by channel", () => {
  expect([...pixelsOf([0, 16, 8, 0], IMAGE)].slice(0, 8)).toEqual([0, 0, 0, 255, 255, 255, 255, 255]);
  const colours: Image = { channels: 3, height: 1, width: 1, low: 0, high: 1 };
  expect([...pixelsOf([1, 0, 0.5], colours)]).toEqual([255, 0, 128, 255]);
});

test("the brush fills only the pixels under it", () => {
  expect(paint([0, 0, 0, 0], IMAGE, 0.5, 0.5, 0.5)).toEqual([16, 0, 0, 0]);
});
