// The text of a log: escape sequences, chunks, and search.
import { expect, test } from "vitest";
import { CHUNK_LINES, chunksOf, linesOf, MAX_SHOWN, matchesOf, shownEnd } from "./log-text";

test("escape sequences are removed, and an overwritten line shows its last state", () => {
  expect(linesOf("\u001b[32mgreen\u001b[0m\nstep 1\rstep 2\r\n\u001b]0;title\u0007end\u0000")).toEqual([
    "green",
    "step 2",
    "end",
  ]);
  expect(linesOf("tab\there <b>")).toEqual(["tab\there <b>"]);
});

test("only the last chunk changes while the log grows", () => {
  const lines = Array.from({ length: 450 }, (_, line) => `line ${line}`);
  const before = chunksOf(lines);
  const after = chunksOf([...lines, "more"]);
  expect(before).toHaveLength(3);
  expect(before[0]?.split("\n")).toHaveLength(CHUNK_LINES);
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  expect(after[2]).not.toEqual(before[2]);
  expect(chunksOf(linesOf("one\ntwo\n"))).toEqual(["one\ntwo"]);
});

test("matches are found in order, regardless of case", () => {
  expect(matchesOf(["Loss 1\nloss 2", "no", "LOSS"], "loss")).toEqual([
    { chunk: 0, start: 0 },
    { chunk: 0, start: 7 },
    { chunk: 2, start: 0 },
  ]);
  expect(matchesOf(["loss"], "")).toEqual([]);
  expect(matchesOf(["a.c abc"], "a.c")).toEqual([{ chunk: 0, start: 0 }]);
});

test("a log that is too long for the page starts with a complete line", () => {
  expect(shownEnd("short\n")).toBe("short\n");
  const long = `${"x".repeat(99)}\n`.repeat(MAX_SHOWN / 100 + 5);
  const shown = shownEnd(long);
  expect(shown.length).toBeLessThanOrEqual(MAX_SHOWN);
  expect(shown.startsWith("x")).toBe(true);
  expect(shown.length % 100).toBe(0);
});
