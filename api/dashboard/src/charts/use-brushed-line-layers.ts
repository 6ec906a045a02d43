// The two canvas layers of parallel coordinates: lines outside the brushes, and above them the lines inside. Of thousands
// of lines, the lower layer shows the density, and the upper one the best.
import { useCallback, useMemo, useRef } from "react";
import { type Size, useCanvas } from "../auto-redraw-canvas";
import { countIn } from "./brush-filter-terms";
import { shadeParts, shadesOf, tokenParts } from "./colour";
import { drawBehind, drawBest, drawLines, type Lines, MANY } from "./draw-parallel-lines";
import { ParallelLineRaster } from "./parallel-line-raster";

const FEW = 600; // of many: up to this number of lines is stroked above the others

type Picture = { raster: ParallelLineRaster; image: ImageData };

export function useLineLayers(
  lines: Lines,
  inside: Uint8Array,
  shares: Float64Array,
  best: readonly number[],
  size: Size,
) {
  const shades = useMemo(() => shadesOf(shares), [shares]);
  const picture = useRef<Picture | null>(null);
  const isMany = lines.count > MANY; // fewer are stroked, which is smoother
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
      (context, size) => {
        if (stroked) drawLines(context, size, lines, stroked, shares);
        drawBest(context, size, lines, best);
      },
      [lines, stroked, shares, best],
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
