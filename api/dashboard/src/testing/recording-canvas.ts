// A canvas context for tests that records its calls: happy-dom does not draw.

export type Call = { name: string; args: readonly unknown[]; state: Readonly<Record<string, unknown>> };
export type Recording = { context: CanvasRenderingContext2D; calls: Call[]; named: (name: string) => Call[] };

const METHODS = [
  ...["save", "restore", "beginPath", "moveTo", "lineTo", "arc", "rect", "clip", "stroke", "fill", "fillRect"],
  ...[
    "fillText",
    "strokeRect",
    "scale",
    "closePath",
    "roundRect",
    "translate",
    "rotate",
    "drawImage",
    "setLineDash",
    "clearRect",
    "setTransform",
  ],
];

/** Every call has the drawing state (colours, widths, alpha) at its time. */
export function recordingContext(): Recording {
  const calls: Call[] = [];
  const state: Record<string, unknown> = {};
  const methods: Record<string, unknown> = Object.fromEntries(
    METHODS.map(name => [name, (...args: unknown[]) => void calls.push({ name, args, state: { ...state } })]),
  );
  methods.measureText = (text: string) => ({ width: text.length * 6 });
  methods.getTransform = () => ({ a: 1 });
  methods.createImageData = (width: number, height: number) => ({
    width,
    height,
    data: new Uint8ClampedArray(width * height * 4),
  });
  const context = new Proxy(methods, {
    get: (target, key) => target[key as string] ?? state[key as string],
    set: (_, key, value) => {
      state[key as string] = value;
      return true;
    },
  });
  return {
    context: context as unknown as CanvasRenderingContext2D,
    calls,
    named: name => calls.filter(call => call.name === name),
  };
}
