// A button with a popover menu, on the native popover, which closes on Escape or an outside click.
import { type ReactNode, useId, useRef } from "react";
import "./menu.css";

type MenuProps = { label: ReactNode; name?: string; children: ReactNode; quiet?: boolean; align?: "start" | "end" };

export function Menu({ label, name, children, quiet, align = "end" }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const place = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box || !panel.current) return;
    const width = panel.current.offsetWidth;
    const left = align === "end" ? box.right - width : box.left;
    const top = Math.min(box.bottom + 4, window.innerHeight - 200);
    panel.current.style.top = `${top}px`;
    panel.current.style.maxHeight = `${window.innerHeight - top - 12}px`;
    panel.current.style.left = `${Math.max(8, Math.min(left, window.innerWidth - width - 8))}px`;
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={quiet ? "button button-quiet" : "button"}
        popoverTarget={id}
        aria-label={name}
      >
        {label}
      </button>
      <div ref={panel} id={id} popover="auto" className="menu" onToggle={place}>
        {children}
      </div>
    </>
  );
}
