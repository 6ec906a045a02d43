// The terms of a filter: where they end, names and values that need quotes, and terms that are replaced.
import { nameOf, paramName, termsOn, textOf, tokensOf, withTerm } from "./filter-terms";

test("splits at unquoted spaces", () => {
  expect(tokensOf('lr<1  "two words" a:"x y",z').map(token => token.text)).toEqual([
    "lr<1",
    '"two words"',
    'a:"x y",z',
  ]);
  expect(tokensOf('lr "open one').map(token => token.text)).toEqual(["lr", '"open one']);
});

test("quotes names and values that would be parsed differently", () => {
  expect([nameOf("lr"), nameOf("my lr"), nameOf("-x"), nameOf('a"b')]).toEqual(["lr", '"my lr"', '"-x"', '"a\\"b"']);
  expect([paramName("lr"), paramName("state"), paramName("net.width")]).toEqual([
    "lr",
    "params.state",
    "params.net.width",
  ]);
  expect(["adam", "my own", "3", "true", "a*"].map(textOf)).toEqual(["adam", '"my own"', '"3"', '"true"', '"a*"']);
  expect([3, true, null].map(textOf)).toEqual(["3", "true", "null"]);
});

test("sets and removes the terms on a name", () => {
  expect(withTerm("lr<1 state:failed", "state", "state:running")).toBe("lr<1 state:running");
  expect(withTerm("lr<1 lr>0.1 x", "lr", "lr:0.2..0.3")).toBe("x lr:0.2..0.3");
  expect(withTerm('"my lr":1 x', '"my lr"', "")).toBe("x");
  expect(withTerm("-state:failed", "state", "state:failed")).toBe("-state:failed state:failed");
  expect(termsOn("lr<1 lr>0.1 x", "lr")).toEqual(["lr<1", "lr>0.1"]);
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
