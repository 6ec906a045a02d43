// Suggestions of the filter: names, operators and values at the cursor, and names that need quotes.
import { nameOf, paramName, suggest, termsOn, textOf, tokensOf, withTerm } from "./filter-suggestions";

const KNOWN = {
  params: [
    { name: "lr", values: null },
    { name: "optimizer", values: ["adam", "sgd", "a b"] },
    { name: "state", values: null },
  ],
  objectives: ["val_loss"],
  others: ["attrs.gpu"],
};
const labels = (text: string, cursor = text.length) => suggest(text, cursor, KNOWN).found.map(each => each.label);
const inserts = (text: string, cursor = text.length) => suggest(text, cursor, KNOWN).found.map(each => each.insert);

test("an empty filter suggests the parameters first", () => {
  expect(labels("").slice(0, 4)).toEqual(["lr", "optimizer:", "params.state", "val_loss"]);
  expect(labels("")).toHaveLength(9);
});

test("names that start with the typed text come before those that contain it", () => {
  expect(labels("a")).toEqual(expect.arrayContaining(["attempt", "attrs.gpu", "params.state"]));
  expect(labels("at")[0]).toBe("attempt");
});

test("a complete numeric name suggests operators", () => {
  expect(inserts("lr")).toEqual(["lr<", "lr>", "lr:", "lr!="]);
  expect(inserts("-lr")).toEqual(["-lr<", "-lr>", "-lr:", "-lr!="]);
});

test("values of a choice are completed, without the one already typed", () => {
  expect(labels("optimizer:")).toEqual(["adam", "sgd", '"a b"']);
  expect(labels("optimizer:a")).toEqual(["adam"]);
  expect(labels("optimizer:adam")).toEqual([]);
});

test("a list is completed after its last comma, and negation is kept", () => {
  expect(inserts("-state:failed,fin")).toEqual(["-state:failed,finished "]);
});

test("the suggestion replaces the term at the cursor only", () => {
  const text = "lr<1 opt tag:keep";
  const { start, end, found } = suggest(text, 8, KNOWN);
  expect(text.slice(start, end)).toBe("opt");
  expect(found[0]?.insert).toBe("optimizer:");
});

test("between terms a new one is suggested", () => {
  expect(suggest("lr<1  tag:keep", 5, KNOWN)).toMatchObject({ start: 5, end: 5 });
});

test.each([
  ["lr", "lr"],
  ["my rate", '"my rate"'],
  ['quo"te', '"quo\\"te"'],
  ["-x", '"-x"'],
])("the name %s is written as %s", (name, text) => expect(nameOf(name)).toBe(text));

test("a parameter called like a column is prefixed", () => {
  expect([paramName("state"), paramName("lr"), paramName("a.b")]).toEqual(["params.state", "lr", "params.a.b"]);
});

test.each([
  [0.5, "0.5"],
  ["adam", "adam"],
  ["0.5", '"0.5"'],
  ["true", '"true"'],
  ["a,b", '"a,b"'],
  ["1..2", '"1..2"'],
  ["", '""'],
  [null, "null"],
])("the value %j is written as %s", (value, text) => expect(textOf(value)).toBe(text));

test("an unclosed quote extends to the end", () => {
  expect(tokensOf('lr<1 note:"two words').map(token => token.text)).toEqual(["lr<1", 'note:"two words']);
});

test("terms on a name are found and replaced, other terms keep their order", () => {
  const filter = "state:failed lr<1 state:pruned";
  expect(termsOn(filter, "state")).toEqual(["state:failed", "state:pruned"]);
  expect(withTerm(filter, "state", "state:running")).toBe("lr<1 state:running");
  expect(withTerm(filter, "state", "")).toBe("lr<1");
  expect(withTerm("-state:failed", "state", "")).toBe("-state:failed");
});
