// The types of the package `svgcanvas`, which has none: a canvas context that writes SVG.
declare module "svgcanvas/dist/svgcanvas.esm.js" {
  export class Context {
    constructor(width: number, height: number);
    fillStyle: string;
    fillRect(x: number, y: number, width: number, height: number): void;
    getSerializedSvg(withNumericEntities?: boolean): string;
  }
}
