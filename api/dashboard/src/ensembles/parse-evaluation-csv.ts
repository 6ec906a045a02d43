// Parses custom evaluation rows from CSV: the targets are the last columns of each line.
import type { Ensemble } from "./ensemble-types-and-labels";

export type CustomRowsData = { inputs: number[][]; targets: (string | number | number[])[] };

/** Throws an error that names the line. A header line is skipped. */
export function parseEvaluationCsv(text: string, { features, classes, task }: Ensemble): CustomRowsData {
  const outputs = task === "classification" ? 1 : classes.length;
  const inputs: CustomRowsData["inputs"] = [];
  const targets: CustomRowsData["targets"] = [];
  text.split(/\r?\n/).forEach((line, at) => {
    if (line.trim() === "") return;
    const cells = line.split(/[,;\t]/).map(cell => cell.trim().replace(/^"(.*)"$/, "$1"));
    const row = cells.slice(0, features).map(Number);
    const invalid = row.findIndex((value, place) => !Number.isFinite(value) || cells[place] === "");
    if (invalid === 0 && at === 0) return;
    if (cells.length !== features + outputs) {
      throw new Error(
        `Line ${at + 1} has ${cells.length} values; expected ${features} inputs and ${outputs} ${outputs === 1 ? "target" : "targets"}.`,
      );
    }
    if (invalid >= 0) throw new Error(`Line ${at + 1}: “${(cells[invalid] ?? "").slice(0, 40)}” is not a number.`);
    const last = cells.slice(features);
    if (task === "classification") targets.push(classOf(last[0] ?? "", classes, at + 1));
    else targets.push(last.map(Number));
    inputs.push(row);
  });
  if (inputs.length === 0) throw new Error("The file contains no rows.");
  return { inputs, targets };
}

function classOf(name: string, classes: readonly string[], line: number): string | number {
  if (classes.includes(name)) return name;
  const number = Number(name);
  if (name !== "" && Number.isInteger(number) && number >= 0 && number < classes.length) return number;
  throw new Error(
    `Line ${line}: “${name.slice(0, 40)}” is not a class; the classes are ${classes.join(", ").slice(0, 200)}.`,
  );
}
