import { describe, expect, it } from "vitest";
import { type Known, nameOf, paramName, suggest, termsOn, textOf, tokensOf, withTerm } from "./filter-suggestions";

const KNOWN: Known = {
  params: [
    { name: "lr", values: null },
    { name: "optimizer", values: ["adam", "sgd", "my own"] },
    { name: "state", values: null },
  ],
  objectives: ["val_loss"],
  others: ["attrs.kind"],
};

function inserted(text: string): string[] {
  const { start, end, found } = suggest(text, text.length, KNOWN);
  return found.map(each => text.slice(0, start) + each.insert + text.slice(end));
}

describe("the filter language", () => {
  it("splits at unquoted spaces", () => {
    expect(tokensOf('lr<1  "two words" a:"x y",z').map(token => token.text)).toEqual([
      "lr<1",
      '"two words"',
      'a:"x y",z',
    ]);
    expect(tokensOf('lr "open one').map(token => token.text)).toEqual(["lr", '"open one']);
  });

  it("quotes names and values that would be parsed differently", () => {
    expect([nameOf("lr"), nameOf("my lr"), nameOf("-x"), nameOf('a"b')]).toEqual(["lr", '"my lr"', '"-x"', '"a\\"b"']);
    expect([paramName("lr"), paramName("state"), paramName("net.width")]).toEqual([
      "lr",
      "params.state",
      "params.net.width",
    ]);
    expect(["adam", "my own", "3", "true", "a*"].map(textOf)).toEqual(["adam", '"my own"', '"3"', '"true"', '"a*"']);
    expect([3, true, null].map(textOf)).toEqual(["3", "true", "null"]);
  });

  it("suggests names, then operators", () => {
    expect(inserted("l")[0]).toBe("lr");
    expect(inserted("l")).toContain("val_loss");
    expect(inserted("lr")).toEqual(["lr<", "lr>", "lr:", "lr!="]);
    expect(inserted("opt")).toContain("optimizer:");
    expect(inserted("lr<1 -sta")).toContain("lr<1 -state:");
  });

  it("suggests values", () => {
    expect(inserted("state:f")).toEqual(["state:finished ", "state:failed "]);
    expect(inserted("-state:failed,pr")).toEqual(["-state:failed,pruned "]);
    expect(inserted("optimizer:")).toEqual(["optimizer:adam ", "optimizer:sgd ", 'optimizer:"my own" ']);
    expect(inserted("lr:0")).toEqual([]);
  });

  it("sets and removes the terms on a name", () => {
    expect(withTerm("lr<1 state:failed", "state", "state:running")).toBe("lr<1 state:running");
    expect(withTerm("lr<1 lr>0.1 x", "lr", "lr:0.2..0.3")).toBe("x lr:0.2..0.3");
    expect(withTerm('"my lr":1 x', '"my lr"', "")).toBe("x");
    expect(withTerm("-state:failed", "state", "state:failed")).toBe("-state:failed state:failed");
    expect(termsOn("lr<1 lr>0.1 x", "lr")).toEqual(["lr<1", "lr>0.1"]);
  });
});
