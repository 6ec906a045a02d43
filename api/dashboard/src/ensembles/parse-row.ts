// Parses a pasted row; it is validated before it is sent.

/** Numbers separated by commas, semicolons or white space, with or without brackets. Throws an error that states the problem. */
export function parseRow(text: string, features: number): number[] {
  const parts = text
    .replace(/[[\]()]/g, " ")
    .split(/[\s,;]+/)
    .filter(part => part !== "");
  if (parts.length === 0) throw new Error(`Paste ${features} numbers, separated by commas or spaces.`);
  const row = parts.map(part => Number(part));
  const invalid = row.findIndex(value => !Number.isFinite(value));
  if (invalid >= 0) throw new Error(`“${(parts[invalid] ?? "").slice(0, 40)}” (value ${invalid + 1}) is not a number.`);
  if (row.length !== features) throw new Error(`Expected ${features} numbers, got ${row.length}.`);
  return row;
}
