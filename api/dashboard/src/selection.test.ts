// The selection of trials: shared by all views of a sweep, separate for each sweep.
import { act, renderHook } from "@testing-library/react";
import { hover, select, toggle, useSelection } from "./selection";

const selected = (hook: { current: { selected: ReadonlySet<number> } }) => [...hook.current.selected];

test("a toggled trial is selected, and cleared by the next toggle", () => {
  const { result } = renderHook(() => useSelection(21));
  act(() => toggle(21, 5));
  act(() => toggle(21, 7));
  expect(selected(result)).toEqual([5, 7]);
  act(() => toggle(21, 5));
  expect(selected(result)).toEqual([7]);
});

test("every view of the sweep follows, and no other sweep", () => {
  const [one, same, other] = [21, 21, 22].map(id => renderHook(() => useSelection(id)).result);
  act(() => select(21, [1, 2, 2]));
  expect([one, same, other].map(each => each && selected(each))).toEqual([[1, 2], [1, 2], []]);
});

test("hovering keeps the selection", () => {
  const { result } = renderHook(() => useSelection(23));
  act(() => select(23, [4]));
  act(() => hover(23, 9));
  expect([selected(result), result.current.hovered]).toEqual([[4], 9]);
  act(() => hover(23, null));
  expect(result.current.hovered).toBeNull();
});

test("hovering the same trial again renders nothing", () => {
  let renders = 0;
  renderHook(() => {
    renders += 1;
    return useSelection(24);
  });
  act(() => hover(24, 3));
  const before = renders;
  act(() => hover(24, 3));
  expect(renders).toBe(before);
});
