// Stroke icons in the text colour; always used with a label or an accessible name.

const PATHS = {
  sun: "M12 4V2m0 20v-2m8-8h2M2 12h2m13.7-5.7 1.4-1.4M4.9 19.1l1.4-1.4m11.4 0 1.4 1.4M4.9 4.9l1.4 1.4M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0Z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z",
  keyboard: "M3 7h18v10H3zM6.5 10.5h.01m3.5 0h.01m3.5 0h.01m3.5 0h.01M8 14h8",
  leave: "M14 4h5v16h-5M10 8l-4 4 4 4m-4-4h10",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 13l4 4L19 7",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L21 21",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  columns: "M4 5h16v14H4zM10 5v14M15 5v14",
  download: "M12 4v11m-5-4 5 5 5-5M5 20h14",
  tag: "M4 4h8l8 8-8 8-8-8zM8 8h.01",
  star: "M12 3.5l2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9-4.3-4.1 5.9-.8z",
  pencil: "M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3",
  archive: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  compare: "M5 20V10m7 10V4m7 16v-7",
  eye: "M2.5 12S6 6 12 6s9.5 6 9.5 6-3.5 6-9.5 6-9.5-6-9.5-6ZM15 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z",
  bookmark: "M7 4h10v16l-5-4-5 4z",
  warning: "M12 4 2.5 20h19zM12 10v4m0 3h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
