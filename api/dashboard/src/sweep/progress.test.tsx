// The progress of a sweep and its best values.
import { render, screen } from "@testing-library/react";
import { BestValue } from "./best-value";
import { sweepFixture } from "./fixture";
import { SweepProgress } from "./progress";

const bar = () => screen.getByRole("progressbar");
const widths = () => [...bar().children].map(part => (part as HTMLElement).style.width);

test("finished and pruned trials count towards the cap", () => {
  render(
    <SweepProgress sweep={sweepFixture({ run_cap: 20, counts: { finished: 8, pruned: 2, running: 4, failed: 3 } })} />,
  );
  expect(bar()).toHaveAttribute("aria-valuenow", "10");
  expect(widths()).toEqual(["40%", "10%", "20%"]);
  expect(screen.getByText("10 / 20").textContent).toBe("10 / 20 · 3 failed");
  expect(bar().parentElement?.title).toContain("failed trials do not count towards the 20");
});

test("running trials do not exceed the bar", () => {
  render(<SweepProgress sweep={sweepFixture({ run_cap: 10, counts: { finished: 9, running: 4 } })} />);
  expect(widths()).toEqual(["90%", "0%", "10%"]);
});

test("more trials than the cap fill the bar", () => {
  render(<SweepProgress sweep={sweepFixture({ run_cap: 2, counts: { finished: 4 } })} />);
  expect(widths()[0]).toBe("100%");
});

test("a sweep without trials has an empty bar", () => {
  render(<SweepProgress sweep={sweepFixture({ run_cap: 0, counts: {} })} />);
  expect(widths()).toEqual(["0%", "0%", "0%"]);
  expect(screen.queryByText(/failed/)).toBeNull();
});

test("the best value has its metric and direction", () => {
  const { container } = render(<BestValue sweep={sweepFixture()} />);
  expect(container.textContent).toBe("0.97 val_accuracy ↑");
  expect(screen.getByTitle("higher is better")).toBeVisible();
});

test("without a finished trial the best value is a dash", () => {
  expect(render(<BestValue sweep={sweepFixture({ best: null })} />).container.textContent).toBe("– val_accuracy ↑");
});
