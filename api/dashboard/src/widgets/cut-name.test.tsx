// A long name keeps its end.
import { render } from "@testing-library/react";
import { CutName } from "./cut-name";

test("the end of a long name is apart, and the text stays complete", () => {
  const { container } = render(<CutName name="encoder.layers.11.dropout" />);
  expect(container.textContent).toBe("encoder.layers.11.dropout");
  expect(container.querySelector(".cut-name-start")?.textContent).toBe("encoder.layers.11.");
  expect(container.querySelector(".cut-name")).toHaveAttribute("title", "encoder.layers.11.dropout");
});

test("a short name is one text", () => {
  const { container } = render(<CutName name="momentum" />);
  expect(container.innerHTML).toBe("momentum");
});
