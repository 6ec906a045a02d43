// Exported tables are valid CSV.
import { csvOf } from "./curve-export";

test("cells with commas, quotes and line breaks are quoted", async () => {
  const csv = csvOf([
    ["line", "loss"],
    ['a, "b"\nc', 0.5],
  ]);
  expect(await csv.text()).toBe('line,loss\r\n"a, ""b""\nc",0.5\r\n');
  expect(csv.type).toBe("text/csv");
});
