// Images over steps, and previews of files.
import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../../testing/component-test-setup";
import { Files } from "./files";
import { Images, placeOf } from "./images";
import type { Trial } from "./queries";

const FILE = { attempt: 1, sha256: "0123456789abcdef", size_bytes: 10, removed: null };
const ARTIFACTS = ["_images/a.0.png", "_images/a.10.png", "_images/b.5.png", "table.csv", "gone.txt"].map(name => ({
  ...FILE,
  name: `artifacts/${name}`,
  removed: name === "gone.txt" ? "not kept" : null,
}));
const TRIAL = {
  id: 70,
  sweep_id: 7,
  number: 3,
  state: "finished",
  artifacts: ARTIFACTS,
  unfit: null,
} as unknown as Trial;
const IMAGES = [
  { name: "a", steps: [0, 10], files: ["artifacts/_images/a.0.png", "artifacts/_images/a.10.png"], size_bytes: 20 },
  { name: "b", steps: [5], files: ["artifacts/_images/b.5.png"], size_bytes: 10 },
];

afterEach(() => vi.unstubAllGlobals());

test("the last step up to the chosen one is shown", () => {
  expect([null, 0, 9, 10, 99].map(step => placeOf([0, 10], step))).toEqual([1, 0, 0, 1, 1]);
  expect(placeOf([5], 0)).toBe(0);
});

test("the slider steps through the images of a name", async () => {
  showWithService(<Images trial={TRIAL} />, { "GET /trials/70/images": IMAGES });
  const slider = await screen.findByLabelText("Step of a");
  expect(slider).toHaveAttribute("aria-valuetext", "step 10");
  fireEvent.change(slider, { target: { value: "0" } });
  const source = screen.getByAltText("a, step 0").getAttribute("src") ?? "";
  expect(new URLSearchParams(source.split("?")[1]).get("name")).toBe("artifacts/_images/a.0.png");
  expect(screen.getByAltText("b, step 5")).toBeTruthy();
});

test("files are previewed as the service says, and logged images are not listed", async () => {
  const rows = [
    ["epoch", "<b>loss</b>"],
    ["0", "0.5"],
  ];
  showWithService(<Files trial={TRIAL} />, {
    "GET /trials/70/preview": {
      kind: "table",
      size_bytes: 10,
      text: null,
      rows,
      is_complete: false,
      note: "the first 1 rows",
    },
  });
  expect(screen.queryByText(/_images/)).toBeNull();
  expect(screen.queryByTitle("Preview artifacts/gone.txt")).toBeNull();
  await userEvent.click(screen.getByTitle("Preview artifacts/table.csv"));
  expect(await screen.findByText("<b>loss</b>")).toBeTruthy();
  expect(screen.getByText("Shown: the first 1 rows. The download has the whole file.")).toBeTruthy();
});
