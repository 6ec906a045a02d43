// A row as an image: its pixels, and painting into it.

export type Image = { channels: number; height: number; width: number; low: number; high: number };

/** The grey value (0 to 255) or the colours of each pixel, row by row; the input is channel by channel. */
export function pixelsOf(row: readonly number[], image: Image): Uint8ClampedArray<ArrayBuffer> {
  const { channels, height, width, low, high } = image;
  const size = height * width;
  const span = high - low || 1;
  const found = new Uint8ClampedArray(size * 4);
  for (let pixel = 0; pixel < size; pixel += 1) {
    for (let colour = 0; colour < 3; colour += 1) {
      const value = row[(channels >= 3 ? colour * size : 0) + pixel] ?? low;
      found[pixel * 4 + colour] = ((value - low) / span) * 255;
    }
    found[pixel * 4 + 3] = 255;
  }
  return found;
}

/** Paints a soft brush of this radius (in image pixels) around a point into every channel of the row. */
export function paint(row: readonly number[], image: Image, x: number, y: number, radius: number): number[] {
  const { channels, height, width, low, high } = image;
  const after = [...row];
  for (let down = 0; down < height; down += 1) {
    for (let across = 0; across < width; across += 1) {
      const far = Math.hypot(across + 0.5 - x, down + 0.5 - y);
      const ink = Math.max(0, Math.min(1, radius + 0.5 - far));
      if (ink === 0) continue;
      for (let channel = 0; channel < channels; channel += 1) {
        const at = channel * height * width + down * width + across;
        after[at] = Math.max(after[at] ?? low, Math.round((low + ink * (high - low)) * 1000) / 1000);
      }
    }
  }
  return after;
}
