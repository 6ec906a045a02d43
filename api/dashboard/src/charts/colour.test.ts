// The colour ramp: its ends, its steps, and unknown values.
import { applyTheme } from "../theme";
import { SHADES, shadeOf, shadeParts, shades, shadesOf, tokenParts } from "./colour";

beforeEach(() => {
  const style = document.documentElement.style;
  ["#000000", "#404040", "#808080", "#c0c0c0", "#fff"].forEach((colour, index) => {
    style.setProperty(`--ramp-${index}`, colour);
  });
  applyTheme();
});
afterEach(() => {
  document.documentElement.removeAttribute("style");
  applyTheme();
});

test("the ramp ends at its last stop and rises at every step", () => {
  const parts = shadeParts();
  expect(parts).toHaveLength(SHADES);
  expect(parts.at(-1)).toEqual([255, 255, 255]);
  for (const [index, part] of parts.slice(1).entries()) expect(part[0]).toBeGreaterThan(parts[index]?.[0] ?? 255);
});

test("the faintest shade is still visible", () => expect(shadeParts()[0]?.[0]).toBeGreaterThan(20));

test("colours are CSS colours", () => expect(shades().at(-1)).toBe("rgb(255 255 255)"));

test.each([
  [0, 0],
  [0.5, SHADES / 2],
  [1, SHADES - 1],
  [-1, 0],
  [7, SHADES - 1],
])("the share %s has the shade %s", (share, shade) => expect(shadeOf(share)).toBe(shade));

test("unknown values have the shade 0", () => {
  expect([...shadesOf(Float64Array.of(Number.NaN, 0, 1))]).toEqual([0, 1, SHADES]);
});

test("short and long hexadecimal colours are read, others are grey", () => {
  document.documentElement.style.setProperty("--one", "#f80");
  document.documentElement.style.setProperty("--other", "red");
  applyTheme();
  expect(tokenParts("--one")).toEqual([255, 136, 0]);
  expect(tokenParts("--other")).toEqual([128, 128, 128]);
});
