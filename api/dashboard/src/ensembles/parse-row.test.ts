// Parsing of pasted rows.
import { parseRow } from "./parse-row";

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
