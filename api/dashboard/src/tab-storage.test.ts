import { afterEach, expect, test, vi } from "vitest";
import { forgetText, keepText, keptText } from "./new-sweep/draft";

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["refuses everything", { getItem: refuse, setItem: refuse, removeItem: refuse }],
  ["is full", { getItem: () => null, setItem: refuse, removeItem: () => undefined }],
])("what is written stays where the browser's storage %s", (_, storage) => {
  vi.stubGlobal("sessionStorage", storage);
  expect(keptText(3)).toBeNull();
  keepText("name: a", 3);
  expect([keptText(3), keptText()]).toEqual(["name: a", null]);
  forgetText(3);
  expect(keptText(3)).toBeNull();
});

function refuse(): never {
  throw new DOMException("denied", "SecurityError");
}
