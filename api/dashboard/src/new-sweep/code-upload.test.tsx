// Uploading code: packed, sent, written to the file; too large, empty, and rejected uploads.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { CodeUpload } from "./code-upload";
import type { Draft } from "./sweep-file-draft";

const HASH = "a".repeat(64);
let bodies: Blob[];

function show(document: Draft["document"] = {}, reply: () => Response = () => Response.json({ sha256: HASH })) {
  bodies = [];
  const change = vi.fn(() => Promise.resolve());
  vi.stubGlobal("fetch", async (_: string, options: RequestInit) => {
    bodies.push(options.body as Blob);
    return reply();
  });
  const draft = { document, numbers: {}, change, problemAt: () => undefined } as unknown as Draft;
  render(<CodeUpload draft={draft} />);
  return change;
}

function file(path: string, size = 5): File {
  const made = new File(["x".repeat(size)], path.split("/").at(-1) ?? "");
  Object.defineProperty(made, "webkitRelativePath", { value: path });
  return made;
}

const folder = (...files: File[]) => userEvent.upload(screen.getByLabelText("Code folder"), files);
const status = () => screen.getByRole("status").textContent;

afterEach(() => vi.unstubAllGlobals());

test("a folder is packed, sent, and its hash replaces a path", async () => {
  const change = show();
  await folder(file("code/train.py"), file("code/net.py"));
  expect(bodies).toHaveLength(1);
  expect(bodies[0]?.type).toBe("application/zip");
  expect(change).toHaveBeenCalledWith([
    { path: ["program", "bundle"], value: HASH },
    { path: ["program", "code"], value: null },
  ]);
});

test("the uploaded code is shown with its hash", () => {
  show({ program: { bundle: HASH } });
  expect(status()).toBe(`uploaded · ${HASH.slice(0, 12)}…`);
});

test("without code the status says so", () => {
  show();
  expect(status()).toBe("not uploaded yet");
});

test("a folder of excluded files is not sent", async () => {
  const change = show();
  await folder(file("code/.git/config"), file("code/__pycache__/a.py"));
  expect(screen.getByRole("alert")).toHaveTextContent("This folder contains no code files.");
  expect([bodies.length, change.mock.calls.length]).toEqual([0, 0]);
});

test("a zip is sent unchanged", async () => {
  show();
  await userEvent.upload(screen.getByLabelText("Code zip file"), new File(["zip"], "code.zip"));
  expect((bodies[0] as File).name).toBe("code.zip");
});

test("an upload that is too large is refused before it is sent", async () => {
  show();
  const large = new File(["x"], "code.zip");
  Object.defineProperty(large, "size", { value: 70_000_000 });
  await userEvent.upload(screen.getByLabelText("Code zip file"), large);
  expect(screen.getByRole("alert")).toHaveTextContent("The upload is 70 MB; the limit is 67 MB. Exclude data files.");
  expect(bodies).toHaveLength(0);
});

test("a rejected upload shows the reason and changes nothing", async () => {
  const change = show({}, () => Response.json({ detail: "train.py is not valid Python" }, { status: 422 }));
  await folder(file("code/train.py"));
  expect(await screen.findByRole("alert")).toHaveTextContent("train.py is not valid Python");
  expect(change).not.toHaveBeenCalled();
});
