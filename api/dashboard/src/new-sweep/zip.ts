// Packs files into an uncompressed zip, the code upload format (PKWARE's APPNOTE, sections 4.3.7, 4.3.12, 4.3.16).

export type Entry = { name: string; bytes: Uint8Array };

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
const UTF8 = 0x0800;
const DATE = 0x0021; // 1 January 1980

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest >>> 0;
});

export function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (TABLE[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Little-endian numbers, each as [value, bytes]. */
function fields(parts: readonly (readonly [number, 2 | 4])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(parts.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of parts) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

export function zipOf(entries: readonly Entry[]): Blob {
  const parts: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const path = new TextEncoder().encode(name);
    const about = [
      [VERSION, 2],
      [UTF8, 2],
      [0, 2],
      [0, 2],
      [DATE, 2],
      [crc32(bytes), 4],
      [bytes.length, 4],
      [bytes.length, 4],
      [path.length, 2],
      [0, 2],
    ] as const;
    const local = [fields([[LOCAL, 4], ...about]), path, bytes];
    const tail = [
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 4],
      [offset, 4],
    ] as const;
    central.push(fields([[CENTRAL, 4], [VERSION, 2], ...about, ...tail]), path);
    parts.push(...local);
    offset += local.reduce((sum, part) => sum + part.length, 0);
  }
  const size = central.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  const end = fields([
    [END, 4],
    [0, 2],
    [0, 2],
    [count, 2],
    [count, 2],
    [size, 4],
    [offset, 4],
    [0, 2],
  ]);
  return new Blob([...parts, ...central, end] as BlobPart[], { type: "application/zip" });
}
