import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { MetricPicker } from "./combobox";
import { MOST_SHOWN, searchOptions } from "./option-search";

const METRICS = [
  ...["loss", "val/loss", "val/accuracy", "lr"],
  ...Array.from({ length: 200 }, (_, at) => `layer ${at}.norm`),
].map(name => ({ value: name, name }));

function picked() {
  const onChange = vi.fn();
  render(<MetricPicker label="Metric" value="loss" options={METRICS} onChange={onChange} />);
  return { onChange, input: screen.getByRole<HTMLInputElement>("combobox", { name: "Metric" }) };
}

const names = () => screen.queryAllByRole("option").map(option => option.textContent);

describe("the search", () => {
  it("finds options that contain each word, and puts those that start with it first", () => {
    expect(searchOptions(METRICS, "LOSS").map(({ name }) => name)).toEqual(["loss", "val/loss"]);
    expect(searchOptions(METRICS, "norm 17.").map(({ name }) => name)).toContain("layer 17.norm");
    expect(
      searchOptions(METRICS, "l")
        .slice(0, 2)
        .map(({ name }) => name),
    ).toEqual(["loss", "lr"]);
    expect(searchOptions(METRICS, "")).toHaveLength(METRICS.length);
  });
});

describe("the picker", () => {
  it("cuts a long name in the middle, and searches by what is typed", async () => {
    const name = "encoder/block_12/attention/output/dropout_probability/left";
    render(
      <MetricPicker label="Y axis" value={name} options={[{ value: name, name }, ...METRICS]} onChange={vi.fn()} />,
    );
    const input = screen.getByRole<HTMLInputElement>("combobox", { name: "Y axis" });
    expect(input.value).toMatch(/^encoder\/block.*….*probability\/left$/);
    expect(input.title).toBe(name);
    await userEvent.tab();
    await userEvent.keyboard("{ArrowDown}val/");
    expect(names()).toEqual(["val/loss", "val/accuracy"]);
  });

  it("shows the current value, and opens on a click", async () => {
    const { input } = picked();
    expect(input.value).toBe("loss");
    expect(names()).toEqual([]);
    await userEvent.click(input);
    expect(names()).toHaveLength(MOST_SHOWN);
    expect(screen.getByText(`${METRICS.length - MOST_SHOWN} more: type to search`)).toBeVisible();
  });

  it("narrows the options and chooses by keys", async () => {
    const { input, onChange } = picked();
    await userEvent.click(input);
    await userEvent.keyboard("val");
    expect(names()).toEqual(["val/loss", "val/accuracy"]);
    await userEvent.keyboard("{ArrowDown}{Enter}");
    expect(onChange).toHaveBeenCalledExactlyOnceWith("val/accuracy");
    expect(input.getAttribute("aria-expanded")).toBe("false");
  });

  it("opens by typing after Tab, and closes on Escape without a change", async () => {
    const { input, onChange } = picked();
    await userEvent.tab();
    await userEvent.keyboard("acc");
    expect(names()).toEqual(["val/accuracy"]);
    await userEvent.keyboard("{Escape}");
    expect(input.value).toBe("loss");
    expect(onChange).not.toHaveBeenCalled();
  });

  it("says when nothing matches", async () => {
    const { input, onChange } = picked();
    await userEvent.click(input);
    await userEvent.keyboard("nothing like this{Enter}");
    expect(onChange).not.toHaveBeenCalled();
    await userEvent.click(input);
    await userEvent.keyboard("zzz");
    expect(screen.getByRole("status")).toHaveTextContent("Nothing matches zzz");
  });

  it("chooses by a click", async () => {
    const { input, onChange } = picked();
    await userEvent.click(input);
    await userEvent.click(screen.getByRole("option", { name: "lr" }));
    expect(onChange).toHaveBeenCalledExactlyOnceWith("lr");
  });
});
