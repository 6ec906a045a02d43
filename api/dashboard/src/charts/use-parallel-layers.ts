// The two canvas layers of parallel coordinates: lines outside the brushes, and above them the lines inside.
import { useCallback, useMemo, useRef } from "react";
import { type Size, useCanvas } from "../canvas";
import { countIn } from "./brush-filter";
import { shadeParts, shadesOf, tokenParts } from "./colour";
import { ParallelLineRaster } from "./parallel-line-raster";
import { drawBehind, drawLines, type Lines } from "./parallel-lines";

const MANY = 1_500; // lines; fewer are stroked, which is smoother
const FEW = 600; // of many: up to this number of lines is stroked above the others

type Picture = { raster: ParallelLineRaster; image: ImageData };

export function useLineLayers(lines: Lines, inside: Uint8Array, shares: Float64Array, size: Size) {
  const shades = useMemo(() => shadesOf(shares), [shares]);
  const picture = useRef<Picture | null>(null);
  const isMany = lines.count > MANY;
  const isStroked = !isMany || countIn(inside) <= FEW;
  const behind = useCanvas(
    useCallback(
      (context, size) => {
        if (!isMany) drawBehind(context, size, lines, inside);
        else drawPicture(context, size, picture, lines, shades, inside, !isStroked);
      },
      [lines, inside, shades, isMany, isStroked],
    ),
    size,
  );
  const stroked = isStroked ? inside : null;
  const front = useCanvas(
    useCallback(
      (context, size) => stroked && drawLines(context, size, lines, stroked, shares),
      [lines, stroked, shares],
    ),
    size,
  );
  return { behind, front };
}

function drawPicture(
  context: CanvasRenderingContext2D,
  size: Size,
  cached: { current: Picture | null },
  lines: Lines,
  shades: Uint8Array,
  inside: Uint8Array,
  lit: boolean,
): void {
  const { width, height } = context.canvas;
  const before = cached.current?.raster;
  const isSame = before?.lines === lines && before.shades === shades && before.width === width;
  const { raster, image } =
    isSame && cached.current && before.height === height
      ? cached.current
      : {
          raster: new ParallelLineRaster(lines, shades, width, height, size),
          image: context.createImageData(width, height),
        };
  cached.current = { raster, image };
  raster.show(inside);
  const colours = { shades: [tokenParts("--line-strong"), ...shadeParts()], behind: tokenParts("--line") };
  raster.paint(new Uint32Array(image.data.buffer), colours, lit);
  context.putImageData(image, 0, 0);
}
