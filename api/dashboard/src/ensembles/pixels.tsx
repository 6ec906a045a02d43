// A row of image data as a picture.
import { useEffect, useRef } from "react";
import { type Image, pixelsOf } from "./row-as-image";
import "./pixels.css";

/** The canvas on which the row is drawn, one pixel per value. */
export function usePixels(row: readonly number[], image: Image) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) context.putImageData(new ImageData(pixelsOf(row, image), image.width, image.height), 0, 0);
  }, [row, image]);
  return canvas;
}

export function Pixels({
  row,
  image,
  size,
  label,
}: {
  row: readonly number[];
  image: Image;
  size: number;
  label?: string;
}) {
  const canvas = usePixels(row, image);
  return (
    <canvas
      ref={canvas}
      width={image.width}
      height={image.height}
      className="pixels"
      style={{ width: size, height: (size * image.height) / image.width }}
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    />
  );
}
