// What is typed becomes YAML that says the same.
import { quoted, typedYaml } from "./yaml-values";

test("texts are quoted where they would be read as something else", () => {
  expect(quoted("adam")).toBe("adam");
  expect(quoted("no")).toBe('"no"');
  expect(quoted("1.0")).toBe('"1.0"');
});

test("what YAML does not print, or takes for the end of a line, is escaped", () => {
  expect(typedYaml("text", "a\u0085b\u2028c\u007fd")).toBe('"a\\u0085b\\u2028c\\u007fd"');
});
