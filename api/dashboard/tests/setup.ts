// Setup of every file of component tests: Testing Library matchers, a clean document after each test, and after the file
// none of its modules, mocks, stored values and addresses: the files of a worker share their environment.
import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, vi } from "vitest";

configure({ asyncUtilTimeout: 5_000 }); // CI machines are shared: the default of 1 s is too short under load
afterEach(cleanup);
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.resetModules();
  localStorage.clear();
  sessionStorage.clear();
  document.head.replaceChildren();
  document.body.replaceChildren();
  document.title = "";
  history.replaceState(null, "", "/");
});
