// Descriptions of parameters.
import { tokensOf } from "../yaml/highlight";
import { spaceOf } from "./search-space-text";

test("ranges, choices, constants and conditions are described", () => {
  const rows = spaceOf({
    lr: { min: 0.0001, max: 0.1, log: true },
    hidden: { values: [32, "big"] },
    momentum: { min: 0, max: 0.9, step: 0.1, when: { optimizer: ["sgd", "adam"] } },
    epochs: { value: 12 },
    noise: { distribution: "normal", mu: 0, sigma: 2 },
  });
  expect(rows.map(row => [row.kind, row.range, row.note].join(" | "))).toEqual([
    "range | 1e−4 to 0.1 | log scale",
    "choice | 32, big | ",
    "range | 0 to 0.9 | step 0.1; only if optimizer is sgd or adam",
    "constant | 12 | ",
    "normal | mu 0, sigma 2 | ",
  ]);
});

test("the tokens of a line of YAML concatenate to the line", () => {
  const line = "  lr: {min: 1e-3, name: 'a # b', log: true} # not <b>this</b>";
  const tokens = tokensOf(line);
  expect(tokens.map(token => token.text).join("")).toBe(line);
  expect(tokens.filter(token => token.kind !== "plain").map(token => `${token.kind} ${token.text}`)).toEqual([
    "key lr",
    "key min",
    "number 1e-3",
    "key name",
    "text 'a # b'",
    "key log",
    "word true",
    "comment # not <b>this</b>",
  ]);
});
