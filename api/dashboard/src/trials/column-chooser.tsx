// The menu of the table's columns: found by name, added, removed and moved.

import { useId, useState } from "react";
import { Button } from "../widgets/button";
import { MetricPicker } from "../widgets/combobox";
import { CutName } from "../widgets/cut-name";
import { Icon } from "../widgets/icon";
import { Menu } from "../widgets/menu";
import { searchOptions } from "../widgets/option-search";
import { Select } from "../widgets/select";
import type { Column } from "./columns";
import { FIGURE_NAMES, FIGURES, type Figure, figureKey } from "./metric-summary-columns";
import "./column-chooser.css";

const MANY = 12; // columns: with more there is a search

type ColumnsProps = {
  columns: readonly Column[];
  shown: readonly string[]; // in this order
  metrics?: readonly string[];
  onShown: (keys: readonly string[]) => void;
  onReset: () => void;
};

export function ColumnsMenu(props: ColumnsProps) {
  const { columns, shown, metrics = [], onShown, onReset } = props;
  const [text, setText] = useState("");
  const found = searchOptions(
    columns.map(column => ({ value: column.key, name: column.name, column })),
    text,
  ).map(({ column }) => column);
  const groups = new Map<string, Column[]>();
  for (const column of found) groups.set(column.group, [...(groups.get(column.group) ?? []), column]);
  const toggle = (key: string) =>
    onShown(shown.includes(key) ? shown.filter(each => each !== key) : withKey(props, key));
  return (
    <Menu
      label={
        <>
          <Icon name="columns" size={15} /> Columns
        </>
      }
    >
      <div className="table-columns">
        {metrics.length > 0 && <AddMetric metrics={metrics} shown={shown} onAdd={key => onShown([...shown, key])} />}
        {columns.length > MANY && (
          <input
            aria-label="Search columns"
            placeholder="Search columns"
            value={text}
            onChange={event => setText(event.target.value)}
          />
        )}
        {[...groups].map(([group, members]) => (
          <fieldset key={group}>
            <legend>{group}</legend>
            {members.map(({ key, name, title }) => (
              <label key={key} title={title}>
                <input
                  type="checkbox"
                  checked={shown.includes(key)}
                  disabled={key === "number"}
                  onChange={() => toggle(key)}
                />
                {name}
              </label>
            ))}
          </fieldset>
        ))}
        {found.length === 0 && <p>No column matches {text}.</p>}
        <Order {...props} />
        <Button quiet onClick={onReset}>
          Reset columns
        </Button>
      </div>
    </Menu>
  );
}

/** The shown columns with one more: after those that come before it by default. */
function withKey({ columns, shown }: ColumnsProps, key: string): string[] {
  const place = (each: string) => columns.findIndex(column => column.key === each);
  const after = shown.findLastIndex(each => place(each) < place(key));
  return [...shown.slice(0, after + 1), key, ...shown.slice(after + 1)];
}

type AddProps = { metrics: readonly string[]; shown: readonly string[]; onAdd: (key: string) => void };

function AddMetric({ metrics, shown, onAdd }: AddProps) {
  const [figure, setFigure] = useState<Figure>("last");
  const options = metrics
    .map(metric => ({ value: figureKey(figure, metric), name: metric }))
    .filter(option => !shown.includes(option.value));
  return (
    <fieldset className="column-add">
      <legend>Add a metric</legend>
      <Select
        label="Figure"
        value={figure}
        options={FIGURES.map(each => ({ value: each, name: FIGURE_NAMES[each] }))}
        onChange={value => setFigure(value as Figure)}
      />
      <MetricPicker label="Metric" value="" placeholder="Search metrics" options={options} onChange={onAdd} />
    </fieldset>
  );
}

function Order({ columns, shown, onShown }: ColumnsProps) {
  const id = useId();
  const move = (at: number, by: number) => {
    const next = [...shown];
    const [key] = next.splice(at, 1);
    next.splice(at + by, 0, key as string);
    onShown(next);
  };
  return (
    <details className="column-order">
      <summary id={id}>Order</summary>
      <ol aria-labelledby={id}>
        {shown.map((key, at) => {
          const name = columns.find(column => column.key === key)?.name ?? key;
          return (
            <li key={key}>
              <span>
                <CutName name={name} />
              </span>
              <Button quiet small title={`Move ${name} to the left`} disabled={at < 2} onClick={() => move(at, -1)}>
                <Icon name="up" size={14} />
              </Button>
              <Button
                quiet
                small
                title={`Move ${name} to the right`}
                disabled={at === 0 || at === shown.length - 1}
                onClick={() => move(at, 1)}
              >
                <Icon name="down" size={14} />
              </Button>
            </li>
          );
        })}
      </ol>
    </details>
  );
}
