import { afterEach, expect, test, vi } from "vitest";
import { clearStoredText, storedText, storeText } from "./new-sweep/sweep-file-draft";

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["refuses everything", { getItem: refuse, setItem: refuse, removeItem: refuse }],
  ["is full", { getItem: () => null, setItem: refuse, removeItem: () => undefined }],
])("text is kept in memory if the browser's storage %s", (_, storage) => {
  vi.stubGlobal("sessionStorage", storage);
  expect(storedText("3")).toBeNull();
  storeText("name: a", "3");
  expect([storedText("3"), storedText()]).toEqual(["name: a", null]);
  clearStoredText("3");
  expect(storedText("3")).toBeNull();
});

function refuse(): never {
  throw new DOMException("denied", "SecurityError");
}
