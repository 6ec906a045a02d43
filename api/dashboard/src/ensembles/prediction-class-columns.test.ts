// The classes that a prediction shows.
import { columnsOf, likeliest } from "./prediction-class-columns";

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
