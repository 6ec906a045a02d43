// The JSON Schema of the sweep file in forms, labels, and values as YAML.
import { blockSpec, detailOf, labelOf, optionsOf } from "./schema";
import { flow, keysAt, listAt, shownAt, typedYaml, valueAt } from "./yaml-values";

const SCHEMA = {
  $defs: {
    Budget: {
      description: "What the sweep may use. Each limit is optional.",
      properties: {
        wall_s: { anyOf: [{ type: "number" }, { type: "null" }], description: "Seconds of `wall` time." },
        max_trials: { type: "integer", default: 60 },
        mode: { enum: ["soft", "hard"], default: "soft" },
        strict: { type: "boolean", default: false },
        names: { type: "array", default: ["a", "b"] },
        note: { type: "string" },
        extra: { type: "object", default: {} },
      },
    },
  },
  properties: { name: { type: "string" }, budget: { anyOf: [{ $ref: "#/$defs/Budget" }, { type: "null" }] } },
};

const key = (name: string) => blockSpec(SCHEMA, "budget").keys.find(each => each.key === name);

test("a block is found through references and optional types", () => {
  const spec = blockSpec(SCHEMA, "budget");
  expect(spec.hint).toBe("What the sweep may use. Each limit is optional.");
  expect(spec.keys.map(each => each.key)).toEqual([
    ...["wall_s", "max_trials", "mode", "strict", "names", "note", "extra"],
  ]);
});

test.each([
  ["wall_s", "number", ""],
  ["max_trials", "number", "60"],
  ["mode", "choice", "soft"],
  ["strict", "flag", "false"],
  ["names", "list", "a, b"],
  ["note", "text", ""],
  ["extra", "yaml", ""],
])("the key %s is a %s with the default %j", (name, kind, defaultText) => {
  expect(key(name)).toMatchObject({ kind, defaultText });
});

const METHOD = {
  default: "tpe",
  oneOf: [
    { enum: ["tpe", "new_one"], enumDescriptions: ["learns; for most; and `more`", "a new method"], type: "string" },
    { $ref: "#/$defs/SamplerClass" },
  ],
};

test("a key that is a name or a block offers the names with their descriptions", () => {
  const [method] = blockSpec({ properties: { method: METHOD } }, "").keys;
  expect(method).toMatchObject({ key: "method", kind: "choice", defaultText: "tpe" });
  const choices = method?.choices ?? [];
  expect(optionsOf(choices)).toEqual([
    ["tpe", "tpe: learns"],
    ["new_one", "new_one: a new method"],
  ]);
  expect(["tpe", "new_one", "unknown"].map(value => detailOf(choices, value))).toEqual(["For most; and more", "", ""]);
});

test("choices without descriptions are shown by name", () => {
  expect(optionsOf(key("mode")?.choices ?? [])).toEqual([
    ["soft", "soft"],
    ["hard", "hard"],
  ]);
  expect(optionsOf([{ value: "in_graph", hint: "" }])).toEqual([["in_graph", "in graph"]]);
});

test("hints contain no backticks", () => expect(key("wall_s")?.hint).toBe("Seconds of wall time."));

test("the top level has its keys, and an unknown block has none", () => {
  expect(blockSpec(SCHEMA, "").keys.map(each => each.key)).toEqual(["name", "budget"]);
  expect(blockSpec(SCHEMA, "nothing").keys).toEqual([]);
});

test.each([
  ["wall_s", "Wall, in seconds"],
  ["deadline_ms", "Deadline, in ms"],
  ["memory_mb", "Memory, in MB"],
  ["bags", "Bagging rounds"],
  ["max_concurrent", "Max concurrent"],
])("the key %s is labelled %s", (name, label) => expect(labelOf(name)).toBe(label));

const DOCUMENT = { a: { b: [1, { c: "x" }] }, text: "plain", flag: true, none: null };

test("values are found by path", () => {
  expect(valueAt(DOCUMENT, ["a", "b", "1", "c"])).toBe("x");
  expect(valueAt(DOCUMENT, ["a", "b", "7", "c"])).toBeUndefined();
  expect(valueAt(DOCUMENT, ["text", "c"])).toBeUndefined();
  expect([listAt(DOCUMENT, ["a", "b"]).length, listAt(DOCUMENT, ["a"]).length]).toEqual([2, 0]);
  expect([keysAt(DOCUMENT, ["a"]), keysAt(DOCUMENT, ["a", "b"]), keysAt(DOCUMENT, ["text"])]).toEqual([["b"], [], []]);
});

test("fields show numbers as they are written, and lists without brackets", () => {
  const document = { lr: 1, list: [1, "a b", true], block: { x: 2 } };
  const numbers = { "/lr": "1.0", "/list/0": "1e0", "/block/x": "2.50" };
  expect(shownAt(document, numbers, ["lr"])).toBe("1.0");
  expect(shownAt(document, numbers, ["list"])).toBe('1e0, "a b", true');
  expect(shownAt(document, numbers, ["block"])).toBe("{x: 2.50}");
  expect(shownAt(document, numbers, ["missing"])).toBe("");
});

test("keys with slashes and tildes have their own numbers", () => {
  expect(flow({ "a/b~c": 1 }, { "/a~1b~0c": "1.0" }, [])).toBe("{a/b~c: 1.0}".replace("a/b~c", '"a/b~c"'));
});

test.each([
  ["number", " 1e-3 ", "1e-3"],
  ["number", "many", "many"],
  ["list", "1, 2", "[1, 2]"],
  ["list", "[1, 2]", "[1, 2]"],
  ["yaml", "{a: 1}", "{a: 1}"],
  ["text", "12", '"12"'],
  ["value", "true", "true"],
  ["value", "'quoted'", "'quoted'"],
  ["value", "two words", '"two words"'],
  ["text", "   ", null],
] as const)("as %s, %j becomes %j", (kind, typed, yaml) => expect(typedYaml(kind, typed)).toBe(yaml));
