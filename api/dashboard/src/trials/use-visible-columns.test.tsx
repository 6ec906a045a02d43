// The columns that a table shows, while its window changes.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { sweepFixture } from "../sweep/fixture";
import { useColumns } from "./use-visible-columns";

const SWEEP = sweepFixture({});
const FOUND = ["number", "state", "value"];
const wide = window.innerWidth;

function Service({ children }: { children: ReactNode }) {
  return <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>;
}

function resize(width: number) {
  act(() => {
    window.innerWidth = width;
    window.dispatchEvent(new Event("resize"));
  });
}

beforeEach(() => vi.stubGlobal("fetch", async () => Response.json([])));
afterEach(() => resize(wide));

test("a rotated phone gets the columns of its new width", () => {
  const { result } = renderHook(() => useColumns(SWEEP, FOUND), { wrapper: Service });
  const width = () => result.current.shown.find(({ key }) => key === "number")?.width;
  expect(width()).toBe(76);
  resize(390);
  expect(width()).toBe(56);
  resize(844);
  expect(width()).toBe(76);
});

test("other changes of the window's size keep the columns", () => {
  const { result } = renderHook(() => useColumns(SWEEP, FOUND), { wrapper: Service });
  const { shown } = result.current;
  resize(wide + 100);
  expect(result.current.shown).toBe(shown);
});
