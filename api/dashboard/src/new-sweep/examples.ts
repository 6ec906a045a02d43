// Sweep files to begin with.
import digits from "./examples/digits.yaml?raw";
import own from "./examples/function.yaml?raw";
import table from "./examples/own-data.yaml?raw";
import script from "./examples/script.yaml?raw";
import values from "./examples/values.yaml?raw";

export const EXAMPLES: readonly { name: string; text: string }[] = [
  { name: "Classes: digits", text: digits },
  { name: "Values: diabetes", text: values },
  { name: "A table of your own", text: table },
  { name: "Your own function", text: own },
  { name: "Your own script", text: script },
];

export const FIRST = digits;
