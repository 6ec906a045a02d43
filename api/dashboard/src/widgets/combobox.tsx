// A select with search, for lists of metrics, parameters and other names that may be long.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { shortened } from "../format";
import { MOST_SHOWN, searchOptions } from "./option-search";
import type { Option } from "./select";
import "./labelled-control.css";
import "./combobox.css";

type PickerProps = {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
  placeholder?: string; // without a value
};

const [MOST_LETTERS, LETTER_PX, SIDES_PX] = [40, 8, 36]; // of the input

/** Like `Select`; typing narrows the options. A long name is cut in the middle. */
export function MetricPicker({ label, value, options, onChange, placeholder }: PickerProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState<string | null>(null); // null: closed
  const [active, setActive] = useState(0);
  const open = text !== null;
  const found = searchOptions(options, text ?? "");
  const shown = found.slice(0, MOST_SHOWN);
  const name = options.find(option => option.value === value)?.name ?? value;
  const current = shortened(name, MOST_LETTERS);

  useEffect(() => {
    const panel = list.current;
    if (!panel) return;
    if (open) place(panel, input.current);
    else if (panel.matches?.(":popover-open")) panel.hidePopover();
  }, [open]);
  useEffect(() => {
    if (open) document.getElementById(`${id}-${active}`)?.scrollIntoView?.({ block: "nearest" });
  }, [open, active, id]);

  const show = () => {
    if (open) return;
    setText("");
    setActive(
      Math.max(
        0,
        options.slice(0, MOST_SHOWN).findIndex(option => option.value === value),
      ),
    );
  };
  const close = () => setText(null);
  const choose = (option: Option | undefined) => {
    close();
    if (option && option.value !== value) onChange(option.value);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!open) show();
      else setActive(Math.max(0, Math.min(shown.length - 1, active + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (open) choose(shown[active]);
      else show();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };

  return (
    <span className="labelled-control picker">
      <label htmlFor={id}>{label}</label>
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && shown.length > 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        spellCheck={false}
        title={open ? undefined : name}
        style={{ width: `max(180px, ${current.length * LETTER_PX + SIDES_PX}px)` }}
        placeholder={(open && current) || placeholder}
        value={text ?? current}
        onChange={event => {
          // Without an open list, the text is the current name followed by what was typed.
          setText(open ? event.target.value : event.target.value.replace(current, ""));
          setActive(0);
        }}
        onClick={show}
        onKeyDown={onKey}
        onBlur={close}
      />
      <div ref={list} popover="manual" className="picker-list">
        <div id={`${id}-list`} role="listbox" aria-label={`${label}: options`}>
          {open &&
            shown.map((option, at) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
              <div
                key={option.value}
                id={`${id}-${at}`}
                role="option"
                tabIndex={-1}
                aria-selected={option.value === value}
                className={at === active ? "picker-option picker-active" : "picker-option"}
                onMouseDown={event => event.preventDefault()}
                onClick={() => choose(option)}
              >
                {option.name}
              </div>
            ))}
        </div>
        {open && <More found={found.length} shown={shown.length} text={text} />}
      </div>
    </span>
  );
}

function More({ found, shown, text }: { found: number; shown: number; text: string }) {
  if (found === 0)
    return (
      <p className="picker-more" role="status">
        Nothing matches {text}
      </p>
    );
  if (found === shown) return null;
  return <p className="picker-more">{found - shown} more: type to search</p>;
}

/** Below the input, or above it where there is more room. */
function place(panel: HTMLElement, input: HTMLElement | null): void {
  const box = input?.getBoundingClientRect();
  if (!box) return;
  panel.showPopover?.();
  const below = window.innerHeight - box.bottom - 12;
  const above = box.top - 12;
  const up = below < 200 && above > below;
  panel.style.maxHeight = `${Math.min(360, up ? above : below)}px`;
  panel.style.top = up ? "auto" : `${box.bottom + 4}px`;
  panel.style.bottom = up ? `${window.innerHeight - box.top + 4}px` : "auto";
  panel.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - panel.offsetWidth - 8))}px`;
}
