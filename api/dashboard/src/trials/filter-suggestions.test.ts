// Suggestions of the filter: names, operators and values at the cursor.
import { type Known, suggest } from "./filter-suggestions";

const KNOWN: Known = {
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

function inserted(text: string): string[] {
  const { start, end, found } = suggest(text, text.length, KNOWN);
  return found.map(each => text.slice(0, start) + each.insert + text.slice(end));
}

test("suggests names, then operators", () => {
  expect(inserted("l")[0]).toBe("lr");
  expect(inserted("l")).toContain("val_loss");
  expect(inserted("lr")).toEqual(["lr<", "lr>", "lr:", "lr!="]);
  expect(inserted("opt")).toContain("optimizer:");
  expect(inserted("lr<1 -sta")).toContain("lr<1 -state:");
});

test("suggests values", () => {
  expect(inserted("state:f")).toEqual(["state:finished ", "state:failed "]);
  expect(inserted("-state:failed,pr")).toEqual(["-state:failed,pruned "]);
  expect(inserted("optimizer:")).toEqual(["optimizer:adam ", "optimizer:sgd ", 'optimizer:"a b" ']);
  expect(inserted("lr:0")).toEqual([]);
});

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
