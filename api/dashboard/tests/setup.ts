// Setup of every file of component tests: Testing Library matchers, a clean document after each test, and after the file
// none of its modules, mocks, stored values and addresses: the files of a worker share their environment.
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, vi } from "vitest";

const { fetch } = globalThis;

configure({ asyncUtilTimeout: 5_000 }); // CI machines are shared: the default of 1 s is too short under load
beforeAll(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true }); // Testing Library sets it for the first file only
});
afterEach(cleanup);
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  globalThis.fetch = fetch; // some tests replace it without a stub
  vi.restoreAllMocks();
  vi.resetModules();
  localStorage.clear();
  sessionStorage.clear();
  for (const name of document.documentElement.getAttributeNames()) document.documentElement.removeAttribute(name);
  document.head.replaceChildren();
  document.body.replaceChildren();
  document.title = "";
  history.replaceState(null, "", "/");
});
