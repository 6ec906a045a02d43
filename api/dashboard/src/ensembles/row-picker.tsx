// Selects a row of the test split: a grid of images, or lines of a table.

import { formatCount, formatNumber } from "../format";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { ScrollX } from "../widgets/scroll-x";
import type { Samples } from "./ensemble-types-and-labels";
import { Pixels } from "./pixels";
import type { Image } from "./row-as-image";
import "./row-picker.css";

const COLUMNS = 6;

type PickerProps = {
  found: Samples;
  image: Image | null;
  chosen: number;
  onChoose: (index: number) => void;
  onMove: (by: number) => void;
};

export function RowPicker({ found, image, chosen, onChoose, onMove }: PickerProps) {
  const count = found.inputs.length;
  return (
    <div className="picker">
      {image ? (
        <fieldset className="picker-images" aria-label="Rows of the test split">
          {numbered(found).map(({ row, index, key }) => (
            <button
              key={key}
              type="button"
              className="picker-image"
              aria-pressed={index === chosen}
              onClick={() => onChoose(index)}
            >
              <Pixels row={row} image={image} size={56} />
              <span>{trueLabelOf(found, index)}</span>
            </button>
          ))}
        </fieldset>
      ) : (
        <Lines found={found} chosen={chosen} onChoose={onChoose} />
      )}
      <div className="picker-foot">
        <Button quiet small title="Previous rows" onClick={() => onMove(-count)}>
          <Icon name="left" size={14} />
        </Button>
        <span>
          Row {formatCount(found.start + 1)} to {formatCount(found.start + count)} of {formatCount(found.there)}
        </span>
        <Button quiet small title="Next rows" onClick={() => onMove(count)}>
          <Icon name="right" size={14} />
        </Button>
        <Button quiet small onClick={() => onMove(Math.floor(Math.random() * found.there))}>
          Random rows
        </Button>
      </div>
    </div>
  );
}

function Lines({ found, chosen, onChoose }: Pick<PickerProps, "found" | "chosen" | "onChoose">) {
  const width = found.inputs[0]?.length ?? 0;
  const shown = Array.from({ length: Math.min(width, COLUMNS) }, (_, index) => index);
  return (
    <ScrollX label="Rows of the test split">
      <table className="figures">
        <thead>
          <tr>
            <th scope="col">Row</th>
            {shown.map(column => (
              <th key={column} scope="col" className="figures-number">
                {found.columns[column] ?? `#${column + 1}`}
              </th>
            ))}
            {width > COLUMNS && <th scope="col">…</th>}
            <th scope="col">True</th>
          </tr>
        </thead>
        <tbody>
          {numbered(found).map(({ row, index, key }) => (
            <tr key={key} className={index === chosen ? "figures-own" : undefined}>
              <th scope="row">
                <Button small quiet aria-pressed={index === chosen} onClick={() => onChoose(index)}>
                  {formatCount(found.start + index + 1)}
                </Button>
              </th>
              {shown.map(column => (
                <td key={column} className="figures-number">
                  {formatNumber(row[column])}
                </td>
              ))}
              {width > COLUMNS && <td>…</td>}
              <td>{trueLabelOf(found, index)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function numbered(found: Samples) {
  return found.inputs.map((row, index) => ({ row, index, key: found.start + index }));
}

/** The true class or values of a row, as text. */
export function trueLabelOf(found: Samples, index: number): string {
  return found.labels?.[index] ?? found.targets?.[index]?.map(value => formatNumber(value)).join(", ") ?? "";
}
