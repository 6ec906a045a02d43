// Typed input is converted to YAML with the same meaning.
import { quoted, typedYaml } from "./yaml-values";

test("strings are quoted if YAML would parse them as another type", () => {
  expect(quoted("adam")).toBe("adam");
  expect(quoted("no")).toBe('"no"');
  expect(quoted("1.0")).toBe('"1.0"');
});

test("unprintable characters and YAML line breaks are escaped", () => {
  expect(typedYaml("text", "a\u0085b\u2028c\u007fd")).toBe('"a\\u0085b\\u2028c\\u007fd"');
});
