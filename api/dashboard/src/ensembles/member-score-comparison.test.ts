// The table of scores as a file.
import { FIGURES } from "./fixture";
import { scoreRows } from "./member-score-comparison";

test("the file has a row for the ensemble and for each member, with units in the head", () => {
  const [head, own, ...others] = scoreRows(FIGURES, [{ name: "trial 4 of sweep 3" }]);
  expect(head?.slice(0, 2)).toEqual(["network", "best single"]);
  expect(own?.slice(0, 2)).toEqual(["ensemble", false]);
  expect(others).toHaveLength(FIGURES.members.length);
  expect(others[0]?.[0]).toBe("trial 4 of sweep 3");
  expect(others.map(row => row[1])).toEqual(FIGURES.members.map((_, at) => at === FIGURES.best_member));
  for (const row of [own, ...others]) expect(row).toHaveLength(head?.length ?? 0);
});
