// The basket: distinct, bounded, kept in the browser, and robust against what is stored.
import { add, basket, clear, compareHref, count, idsIn, MOST, remove, reset } from "./comparison-basket";

beforeEach(() => {
  localStorage.clear();
  reset();
});

test("items are distinct, kept over a reload, and removed", () => {
  add("sweeps", [3, 5, 3]);
  add("trials", [7]);
  reset(); // a reload
  expect(basket()).toEqual({ sweeps: [3, 5], trials: [7] });
  expect(compareHref(basket())).toBe("/compare?sweeps=3,5&trials=7");
  remove("sweeps", 3);
  expect(count(basket())).toBe(2);
  clear();
  expect(compareHref(basket())).toBe("/compare");
});

test("the oldest items give way above the maximum", () => {
  add(
    "sweeps",
    Array.from({ length: MOST.sweeps + 2 }, (_, at) => at + 1),
  );
  expect(basket().sweeps).toHaveLength(MOST.sweeps);
  expect(basket().sweeps.at(-1)).toBe(MOST.sweeps + 2);
});

test("other text than ids is ignored, in the URL and in the store", () => {
  expect(idsIn("3,x,-1,2.5,3,9007199254740993,4", "sweeps")).toEqual([3, 4]);
  for (const stored of ["{", "[]", '{"sweeps": {"a": 1}}', "null"]) {
    localStorage.setItem("podium.basket", stored);
    reset();
    expect(count(basket())).toBe(0);
  }
});
