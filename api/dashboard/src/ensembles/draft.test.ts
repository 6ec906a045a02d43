// The draft of an ensemble: parsed from the URL, converted to a request.
import { changeDraft, draftOf, read } from "./draft";

test("the default draft selects the best three trials", () => {
  const { request, problems } = read(draftOf(""), 7, []);
  expect(problems).toEqual({});
  expect(request).toMatchObject({ sweep_id: 7, select: "top_k", k: 3, combine: "mean", calibrate: false });
  expect(request).not.toHaveProperty("quorum");
  expect(request).not.toHaveProperty("deadline_ms"); // the service has the default
});

test("trials from the table make an explicit selection", () => {
  const draft = draftOf("?trials=7.0,7.3");
  expect(draft.choose).toBe("explicit");
  const { request } = read(draft, 7, [4, 9]);
  expect(request).toMatchObject({ trial_ids: [4, 9] });
  expect(request).not.toHaveProperty("sweep_id");
  expect(request).not.toHaveProperty("k");
});

test("there is no request until the ids of the named trials are known", () => {
  expect(read(draftOf("?trials=7.0"), 7, null)).toEqual({ request: null, problems: {} });
});

test.each([
  ["?k=0", "k"],
  ["?k=two", "k"],
  ["?choose=greedy&bags=101", "bags"],
  ["?choose=explicit", "trials"],
  ["?deadline=0", "deadline"],
  ["?quorum=1.5", "quorum"],
  ["?replicas=", "replicas"],
])("%s is reported at its field", (search, field) => {
  const { request, problems } = read(draftOf(search), 7, []);
  expect(request).toBeNull();
  expect(Object.keys(problems)).toEqual([field]);
});

test("an emptied field stays in the URL, a default value is removed", () => {
  window.history.replaceState(null, "", "/?k=5");
  changeDraft({ k: "" });
  expect(draftOf(window.location.search).k).toBe("");
  changeDraft({ k: "3", quorum: "2" });
  expect(window.location.search).toBe("?quorum=2");
  changeDraft({ quorum: "" });
  expect(window.location.search).toBe("");
});
