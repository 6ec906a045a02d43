// Example sweep files.
import digits from "./examples/digits.yaml?raw";
import own from "./examples/function.yaml?raw";
import table from "./examples/own-data.yaml?raw";
import script from "./examples/script.yaml?raw";
import values from "./examples/values.yaml?raw";

export const EXAMPLES: readonly { name: string; text: string }[] = [
  { name: "Classification: digits", text: digits },
  { name: "Regression: diabetes", text: values },
  { name: "Your own table", text: table },
  { name: "Your own function", text: own },
  { name: "Your own script", text: script },
];

export const DEFAULT_EXAMPLE = digits;
