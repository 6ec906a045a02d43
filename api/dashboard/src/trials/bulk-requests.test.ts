// Requests for many trials: limited concurrency, counts, and the first error.
import { forEach, outcomeText } from "./bulk-requests";

test("every trial is requested once", async () => {
  const seen: number[] = [];
  const outcome = await forEach([1, 2, 3, 4, 5, 6, 7], async id => void seen.push(id));
  expect(seen.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(outcome).toEqual({ done: 7, refused: 0, firstError: "" });
});

test("at most four requests are in flight", async () => {
  let [running, most] = [0, 0];
  await forEach(
    Array.from({ length: 20 }, (_, id) => id),
    async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    },
  );
  expect(most).toBe(4);
});

test("a failure does not stop the others, and the first message is kept", async () => {
  const outcome = await forEach([1, 2, 3, 4], async id => {
    if (id % 2 === 0) throw new Error(`trial ${id} is finished`);
  });
  expect(outcome).toEqual({ done: 2, refused: 2, firstError: "trial 2 is finished" });
});

test("an empty selection sends no requests", async () => {
  expect(await forEach([], () => Promise.reject(new Error("never")))).toEqual({ done: 0, refused: 0, firstError: "" });
});

test("the outcome is a sentence", () => {
  expect(outcomeText({ done: 1, refused: 0, firstError: "" }, "stopped")).toBe("1 trial stopped");
  expect(outcomeText({ done: 3, refused: 2, firstError: "is over" }, "stopped")).toBe(
    "3 trials stopped; 2 failed: is over",
  );
});
