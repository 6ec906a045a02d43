// The zip of uploaded code: checksums, offsets and names that any unzip reads.
import { pathInFolder } from "./code-upload";
import { crc32, zipOf } from "./zip";

const bytes = (text: string) => new TextEncoder().encode(text);

async function read(entries: Parameters<typeof zipOf>[0]) {
  const data = new Uint8Array(await zipOf(entries).arrayBuffer());
  const view = new DataView(data.buffer);
  const end = data.length - 22;
  const [count, size, offset] = [
    view.getUint16(end + 10, true),
    view.getUint32(end + 12, true),
    view.getUint32(end + 16, true),
  ];
  const found: { name: string; text: string; crc: number }[] = [];
  let at = offset;
  for (let index = 0; index < count; index += 1) {
    expect(view.getUint32(at, true)).toBe(0x02014b50);
    const [length, local] = [view.getUint16(at + 28, true), view.getUint32(at + 42, true)];
    expect(view.getUint32(local, true)).toBe(0x04034b50);
    const nameAt = local + 30;
    const nameLength = view.getUint16(local + 26, true);
    const fileSize = view.getUint32(local + 18, true);
    found.push({
      name: new TextDecoder().decode(data.slice(nameAt, nameAt + nameLength)),
      text: new TextDecoder().decode(data.slice(nameAt + nameLength, nameAt + nameLength + fileSize)),
      crc: view.getUint32(at + 16, true),
    });
    at += 46 + length;
  }
  return { found, signature: view.getUint32(end, true), directoryEnds: at === end && size === end - offset };
}

test("the checksum is that of the standard", () => {
  expect(crc32(bytes("123456789"))).toBe(0xcbf43926);
  expect(crc32(bytes(""))).toBe(0);
});

test("every file is found through the directory, with its contents", async () => {
  const { found, signature, directoryEnds } = await read([
    { name: "train.py", bytes: bytes("print(1)\n") },
    { name: "net/größe.py", bytes: bytes("") },
    { name: "net/b.py", bytes: bytes("x = 2\n") },
  ]);
  expect([signature, directoryEnds]).toEqual([0x06054b50, true]);
  expect(found.map(file => [file.name, file.text])).toEqual([
    ["train.py", "print(1)\n"],
    ["net/größe.py", ""],
    ["net/b.py", "x = 2\n"],
  ]);
  expect(found[0]?.crc).toBe(crc32(bytes("print(1)\n")));
});

test("an empty zip is a valid end of directory", async () => {
  expect(await read([])).toMatchObject({ found: [], signature: 0x06054b50 });
});

test.each([
  ["code/train.py", "train.py"],
  ["code/net/layers.py", "net/layers.py"],
  ["code/.git/config", null],
  ["code/.env", null],
  ["code/__pycache__/a.pyc", null],
  ["code/node_modules/x/y.js", null],
  ["code/old.pyc", null],
  ["code/venv.py", "venv.py"],
  ["train.py", null],
])("the file %s is packed as %s", (relative, path) => expect(pathInFolder(relative)).toBe(path));
