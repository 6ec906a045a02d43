// Why a sweep is in its state, and why it waits, as text.
import { reasonText } from "./state-reason";

test.each([
  ["running", "", "", ""],
  ["queued", "", "every device is busy", "every device is busy"],
  ["queued", "resumed on request", "every device is busy", "every device is busy"],
  ["finished", "24 trials counted", "", "24 trials counted"],
  ["stopping", "stopped on request", "", "stopped on request"],
  [
    "stopping",
    "stopped on request",
    "no device is up yet",
    "stopped on request; its last trials wait: no device is up yet",
  ],
])("%s, %j, %j", (state, reason, wait_message, text) => {
  expect(reasonText({ state, reason, wait_message })).toBe(text);
});
