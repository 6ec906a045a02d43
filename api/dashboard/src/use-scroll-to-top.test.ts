// Which changes of the address scroll to the top of the page.
import { renderHook } from "@testing-library/react";
import { useScrollToTop } from "./use-scroll-to-top";

let page: HTMLElement;

beforeEach(() => {
  page = document.createElement("main");
  page.style.overflowY = "auto"; // as that of a table
  document.body.append(page);
});

afterEach(() => page.remove());

function back(address: string) {
  history.replaceState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}

function at(path: string) {
  const shown = renderHook(({ path }) => useScrollToTop(path), { initialProps: { path } });
  page.scrollTop = 700;
  return (next: string) => shown.rerender({ path: next });
}

test("another tab or page begins at its top", () => {
  const go = at("/sweeps/3/analysis");
  go("/sweeps/3/configuration");
  expect(page.scrollTop).toBe(0);
});

test("the same page of another trial keeps the position", () => {
  const go = at("/sweeps/3/trials/7");
  go("/sweeps/3/trials/8");
  expect(page.scrollTop).toBe(700);
});

test("the document scrolls on other pages", () => {
  page.style.overflowY = "visible";
  const go = at("/sweeps/3/analysis");
  document.documentElement.scrollTop = 500;
  go("/devices");
  expect(document.documentElement.scrollTop).toBe(0);
  expect(page.scrollTop).toBe(700);
});

test("back leaves the position to the browser", () => {
  const go = at("/sweeps/3/table");
  go("/sweeps/3/trials/7");
  page.scrollTop = 250;
  back("/sweeps/3/table");
  go("/sweeps/3/table");
  expect(page.scrollTop).toBe(250);
  go("/devices");
  expect(page.scrollTop).toBe(0);
});

test("back that changes only the query does not count for the next page", () => {
  const go = at("/sweeps/3/table");
  go("/devices");
  page.scrollTop = 300;
  go("/sweeps/3/table");
  back("/sweeps/3/table?filter=lr<1");
  go("/devices");
  expect(page.scrollTop).toBe(0);
});
