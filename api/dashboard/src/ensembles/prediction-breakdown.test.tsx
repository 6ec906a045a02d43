// A prediction with each member's contribution, and the health of the members.
import { render, screen } from "@testing-library/react";
import { ANSWER, ENSEMBLE, memberOf } from "./fixture";
import { MembersTable } from "./member-health";
import { PredictionTable } from "./prediction-breakdown";

test("a degraded prediction names the members that answered and those that did not", () => {
  render(<PredictionTable answer={ANSWER} ensemble={ENSEMBLE} trueLabel="dog" />);
  expect(screen.getByText("degraded")).toBeInTheDocument();
  expect(screen.getByText("✓ Correct: dog")).toBeInTheDocument();
  expect(screen.getByRole("row", { name: "Trial 0 25 % 75 % answered 0.1 ms 2.5 ms" })).toBeInTheDocument();
  expect(screen.getByRole("row", { name: "Trial 1 no response late – –" })).toBeInTheDocument();
});

test("a wrong prediction is marked as wrong", () => {
  render(<PredictionTable answer={ANSWER} ensemble={ENSEMBLE} trueLabel="cat" />);
  expect(screen.getByText("✕ Incorrect: true class is cat")).toBeInTheDocument();
});

test("regression values have a standard deviation instead of a share", () => {
  const { labels: _, ...rest } = ANSWER;
  const answer = { ...rest, outputs: [[2.5]], variance: [[0.25]], member_outputs: [[[2.5]], null] };
  render(
    <PredictionTable
      answer={answer}
      ensemble={{ ...ENSEMBLE, task: "regression", classes: ["price"] }}
      trueLabel="2"
    />,
  );
  expect(screen.getByText("price 2.5")).toBeInTheDocument();
  expect(screen.getByText("± 0.5")).toBeInTheDocument();
  expect(screen.getByText("True value: 2")).toBeInTheDocument();
});

test("renders the queue, latencies, circuit breaker and reason of each member", () => {
  const open = memberOf(1, { state: "open", reason: "late: no answer for 900 ms" });
  render(<MembersTable ensemble={{ ...ENSEMBLE, members: [memberOf(0), open] }} />);
  expect(
    screen.getByRole("row", { name: /Trial 0 50.0 % ready cpu-0 3 1.3 ms 21 ms 12.5 % closed 4000 0/ }),
  ).toBeInTheDocument();
  expect(screen.getByText("late: no answer for 900 ms")).toBeInTheDocument();
  expect(screen.getByRole("row", { name: /Trial 1/ })).toHaveTextContent("open");
});

test("unknown gateway figures are a dash, not zero", () => {
  const unasked = memberOf(0, { waiting: null, p50_ms: null, p99_ms: null, late_share: null });
  render(<MembersTable ensemble={{ ...ENSEMBLE, members: [unasked] }} />);
  expect(screen.getByRole("row", { name: "Trial 0 50.0 % ready cpu-0 – – – – – 4000 0" })).toBeInTheDocument();
});
