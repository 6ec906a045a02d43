// What users write about sweeps: terms of the filter, changed details, Markdown as text, and role checks.
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { type Sent, showWithService } from "../testing/component-test-setup";
import { tagsOf } from "./details";
import { changesOf, DetailsDialog } from "./details-dialog";
import { Description, firstLine } from "./expandable-description";
import { SweepLabels } from "./filter-links";
import { hasTerm, projectIn, projectTerm, toggled, withProject } from "./list-filter-terms";
import { RenderedMarkdown } from "./markdown";
import { SweepDetails } from "./sweep-details";

const SWEEP = sweepFixture({
  state: "finished",
  project: "vision",
  tags: ["keep"],
  owner: "ann",
  description: "# Why",
});
const draftOf = { name: "digits", project: "vision", tags: "keep", description: "# Why" };

afterEach(() => vi.unstubAllGlobals());

test("terms are toggled and projects are quoted where needed", () => {
  expect(toggled("a is:starred", "is:starred")).toBe("a");
  expect(toggled("a", "is:starred")).toBe("a is:starred");
  expect(hasTerm("a -is:starred", "is:starred")).toBe(false);
  expect(projectTerm("my project")).toBe('project:"my project"');
  expect(withProject("a project:old", "my project")).toBe('a project:"my project"');
  expect(withProject("a project:old", "")).toBe("a");
  expect(projectIn('a project:"my project"', ["vision", "my project"])).toBe("my project");
  expect(projectIn("project:vision,audio", ["vision"])).toBe("");
  expect(tagsOf(" b, a  b")).toEqual(["a", "b"]);
});

test("only what differs is sent", () => {
  expect(changesOf(SWEEP, draftOf)).toEqual({ add_tags: [], remove_tags: [] });
  expect(changesOf(SWEEP, { ...draftOf, name: "new", tags: "new", project: "" })).toEqual({
    ...{ name: "new", project: "", add_tags: ["new"], remove_tags: ["keep"] },
  });
});

test("a refused change stays in the dialog with its message", async () => {
  const refuse = () => Response.json({ detail: "name: must have at most 120 characters" }, { status: 422 });
  const closed = vi.fn();
  showWithService(<DetailsDialog sweep={SWEEP} onClose={closed} />, {
    "GET /projects": [{ name: "audio", sweeps: 1, archived: 0 }],
    "PATCH /sweeps/7/details": refuse,
  });
  await userEvent.type(screen.getByLabelText("Name"), "x");
  await userEvent.click(screen.getByText("Save"));
  expect(await screen.findByText("name: must have at most 120 characters")).toBeTruthy();
  expect(closed).not.toHaveBeenCalled();
});

test("star and archive are sent, and a viewer has neither", async () => {
  let sent: Sent[] = showWithService(<SweepDetails sweep={SWEEP} />, { "PATCH /sweeps/7/details": SWEEP });
  await userEvent.click(screen.getByRole("button", { name: "Star digits" }));
  await userEvent.click(screen.getByRole("button", { name: /Archive/ }));
  await waitFor(() =>
    expect(sent.filter(one => one.method === "PATCH").map(one => one.body)).toEqual([
      { add_tags: [], remove_tags: [], starred: true },
      { add_tags: [], remove_tags: [], archived: true },
    ]),
  );
  document.body.innerHTML = "";
  sent = showWithService(<SweepDetails sweep={SWEEP} />, {}, "viewer");
  expect(screen.getByRole("link", { name: "vision" })).toHaveAttribute("href", "/?q=project%3Avision");
  for (const name of [/Star/, /Archive/, /Edit/]) expect(screen.queryByRole("button", { name })).toBeNull();
});

test("a running sweep cannot be archived", () => {
  showWithService(<SweepDetails sweep={sweepFixture()} />);
  expect(screen.queryByRole("button", { name: /Archive/ })).toBeNull();
});

test("the first line is plain text", () => {
  expect(firstLine("\n## **Why** `this`\nmore")).toBe("Why this");
  expect(firstLine("---")).toBe("Description");
});

test("Markdown becomes elements, and HTML and unsafe links stay text", async () => {
  const text =
    "# Why\n\n<img src=x onerror=alert(1)> [bad](javascript:alert(1)) [good](https://example.org)\n\n- [x] done";
  showWithService(<Description text={text} />);
  await userEvent.click(screen.getByText("Why"));
  const details = document.querySelector("details");
  if (details && !details.open) details.open = true;
  details?.dispatchEvent(new Event("toggle"));
  expect(await screen.findByRole("heading", { name: "Why" })).toBeTruthy();
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).toContain("<img src=x onerror=alert(1)>");
  expect(screen.getByText("bad").getAttribute("href") ?? "").not.toContain("javascript");
  expect(screen.getByText("good")).toHaveAttribute("rel", "noreferrer noopener");
  expect(screen.getByLabelText("done")).toBeTruthy();
});

test("headings of a description follow those around it and skip no level", () => {
  const text = "## Data\n\n#### Split\n\n##### Seeds\n\n# Model";
  render(<RenderedMarkdown text={text} level={2} />);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(each => each.tagName);
  expect(levels).toEqual(["H2", "H3", "H4", "H2"]);
});

test("tags beyond the limit are behind a button, which names them", async () => {
  const tags = ["a", "b", "c", "d", "e"];
  showWithService(<SweepLabels sweep={sweepFixture({ tags })} most={3} />);
  expect(screen.getAllByRole("link").map(link => link.textContent)).toEqual(["a", "b", "c"]);
  await userEvent.click(screen.getByRole("button", { name: "+2 more tags" }));
  expect(screen.getAllByRole("link").map(link => link.textContent)).toEqual(tags);
});

test("a long tag and project keep their ends where there is no room", () => {
  const sweep = sweepFixture({ tags: ["baseline-seed-17"], project: "vision-transformers" });
  const { container } = render(<SweepLabels sweep={sweep} />);
  const cut = [...container.querySelectorAll(".cut-name-start")].map(start => start.nextSibling?.textContent);
  expect(cut).toEqual(["formers", "seed-17"]);
  const names = screen.getAllByRole("link").map(link => link.getAttribute("aria-label"));
  expect(names, "without a space before the end").toEqual([sweep.project, ...sweep.tags]);
});
