// The theme: selected, stored, followed by components, and without storage.
import { act, renderHook } from "@testing-library/react";
import { applyTheme, chooseTheme, token, useTheme } from "./theme";

afterEach(() => {
  vi.restoreAllMocks();
  localStorage.clear();
  document.documentElement.removeAttribute("style");
  applyTheme();
});

test("a selected theme is stored, set on the document and followed", () => {
  const { result } = renderHook(() => useTheme());
  act(() => chooseTheme("dark"));
  expect(result.current).toBe("dark");
  expect(document.documentElement.dataset.theme).toBe("dark");
  expect(localStorage.getItem("podium.theme")).toBe("dark");
  act(() => chooseTheme("light"));
  expect(result.current).toBe("light");
});

test("following the system forgets the selection", () => {
  act(() => chooseTheme("dark"));
  act(() => chooseTheme("system"));
  expect(localStorage.getItem("podium.theme")).toBeNull();
});

test("a stored value that is not a theme is ignored", () => {
  localStorage.setItem("podium.theme", "sepia");
  applyTheme();
  expect(["light", "dark"]).toContain(document.documentElement.dataset.theme);
});

test("without storage the theme still follows the system", () => {
  vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
    throw new Error("SecurityError");
  });
  expect(() => applyTheme()).not.toThrow();
  expect(["light", "dark"]).toContain(document.documentElement.dataset.theme);
});

test("tokens are read from the document and read again after a change of theme", () => {
  document.documentElement.style.setProperty("--test-token", " #123456 ");
  expect(token("--test-token")).toBe("#123456");
  document.documentElement.style.setProperty("--test-token", "#654321");
  expect(token("--test-token")).toBe("#123456");
  applyTheme();
  expect(token("--test-token")).toBe("#654321");
});

test("an unknown token is a visible grey", () => expect(token("--no-such-token")).toBe("#888"));
