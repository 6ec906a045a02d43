// Try a prediction on a row of the test split, on pasted values, or on a drawing.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { keys } from "../query-keys";
import { useQueryState } from "../url-query-state";
import { useDebounced } from "../use-debounced";
import { Button } from "../widgets/button";
import { Field } from "../widgets/field";
import { Panel } from "../widgets/panel";
import { Empty, Loading } from "../widgets/query-states";
import { DrawingPad } from "./drawing-pad";
import type { Ensemble, Samples } from "./ensemble-types-and-labels";
import { parseRow } from "./parse-row";
import { Pixels } from "./pixels";
import { PredictionForRow } from "./prediction-for-row";
import { samples } from "./queries";
import type { Image } from "./row-as-image";
import { RowPicker, trueLabelOf } from "./row-picker";
import "./try-prediction.css";

const ROWS = 12;
const DRAWING_DELAY_MS = 150; // a drawing is sent when the pen pauses, not on every pixel
const SERVING = new Set(["ready", "degraded"]);
const INPUT_MODES: Record<string, string> = { rows: "Rows from test", draw: "Draw", paste: "Paste values" };

export function TryPanel({ ensemble }: { ensemble: Ensemble }) {
  const serving = SERVING.has(ensemble.state);
  return (
    <section aria-label="Try a prediction">
      <Panel
        title="Try a prediction"
        hint="Every member predicts; the ensemble combines the responses that arrive by the deadline."
      >
        {serving ? (
          <Try ensemble={ensemble} />
        ) : (
          <Empty
            title={`The ensemble is ${ensemble.state.replace("_", " ")}`}
            hint={
              ensemble.state === "stopped"
                ? "Start it to make predictions."
                : ensemble.state === "retired"
                  ? "It no longer serves predictions."
                  : "It serves predictions when it is ready."
            }
          />
        )}
      </Panel>
    </section>
  );
}

function Try({ ensemble }: { ensemble: Ensemble }) {
  const [inputMode, setInputMode] = useQueryState("try", "rows");
  const [start, setStart] = useQueryState("from", "0");
  const [chosen, setChosen] = useQueryState("row", "0");
  const [deadline, setDeadline] = useState("");
  const rows = useQuery({
    queryKey: keys.ensemble(ensemble.id, "samples", ensemble.version, start),
    queryFn: () => samples(ensemble.id, Number(start) || 0, ROWS),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const image = useMemo(() => imageOf(rows.data), [rows.data]);
  const inputModes = Object.keys(INPUT_MODES).filter(key =>
    key === "rows" ? !rows.isError : key === "draw" ? image : true,
  );
  const now = inputModes.includes(inputMode) ? inputMode : (inputModes[0] ?? "paste");
  const at = Math.min(Number(chosen) || 0, (rows.data?.inputs.length ?? 1) - 1);
  const deadlineMs = Number(deadline) >= 1 ? Number(deadline) : null;
  return (
    <>
      <div className="try-ways">
        <fieldset aria-label="Input" className="try-tabs">
          {inputModes.map(key => (
            <Button key={key} small aria-pressed={key === now} onClick={() => setInputMode(key)}>
              {INPUT_MODES[key]}
            </Button>
          ))}
        </fieldset>
        <label className="try-deadline">
          Deadline
          <input
            type="number"
            min={1}
            max={600000}
            placeholder={String(ensemble.deadline_ms)}
            value={deadline}
            onChange={event => setDeadline(event.target.value)}
          />
          ms
        </label>
      </div>
      {now === "rows" && rows.isLoading && <Loading rows={3} />}
      {now === "rows" && rows.data && (
        <Split
          left={
            <RowPicker
              found={rows.data}
              image={image}
              chosen={at}
              onChoose={index => setChosen(String(index))}
              onMove={by => {
                setStart(String((rows.data.start + by + rows.data.there) % rows.data.there));
                setChosen("0");
              }}
            />
          }
          right={
            <PredictionForRow
              ensemble={ensemble}
              row={rows.data.inputs[at]}
              trueLabel={trueLabelOf(rows.data, at)}
              deadlineMs={deadlineMs}
            />
          }
        />
      )}
      {now === "draw" && image && <Draw ensemble={ensemble} image={image} deadlineMs={deadlineMs} />}
      {now === "paste" && (
        <Paste
          ensemble={ensemble}
          image={image}
          example={rows.data?.inputs[at]}
          unavailable={rows.isError ? rows.error.message : ""}
          deadlineMs={deadlineMs}
        />
      )}
    </>
  );
}

function Split({ left, right }: { left: ReactNode; right: ReactNode }) {
  return (
    <div className="try-split">
      <div>{left}</div>
      <div>{right}</div>
    </div>
  );
}

function Draw({ ensemble, image, deadlineMs }: { ensemble: Ensemble; image: Image; deadlineMs: number | null }) {
  const blank = useMemo(() => Array<number>(image.channels * image.height * image.width).fill(image.low), [image]);
  const [row, setRow] = useState<number[]>(blank);
  const drawn = useDebounced(row, DRAWING_DELAY_MS);
  const empty = row === blank || drawn === blank;
  return (
    <Split
      left={
        <div className="try-draw">
          <DrawingPad row={row} image={image} onChange={setRow} />
          <Button small disabled={row === blank} onClick={() => setRow(blank)}>
            Clear
          </Button>
        </div>
      }
      right={
        empty ? (
          <Empty
            title="Draw an image"
            hint={`The drawing is scaled to ${image.width} × ${image.height} pixels, the input size of the networks.`}
          />
        ) : (
          <PredictionForRow ensemble={ensemble} row={drawn} deadlineMs={deadlineMs} />
        )
      }
    />
  );
}

type PasteProps = {
  ensemble: Ensemble;
  image: Image | null;
  example: readonly number[] | undefined;
  unavailable: string;
  deadlineMs: number | null;
};

function Paste({ ensemble, image, example, unavailable, deadlineMs }: PasteProps) {
  const [text, setText] = useState("");
  const { row, problem } = useMemo(() => read(text, ensemble.features), [text, ensemble.features]);
  return (
    <Split
      left={
        <div className="try-paste">
          <Field
            label={`${ensemble.features} values`}
            problem={text.trim() === "" ? undefined : problem}
            hint={unavailable || "Separated by commas, spaces or line breaks; unscaled, as in the data set."}
          >
            <textarea
              rows={7}
              spellCheck={false}
              className="mono"
              value={text}
              onChange={event => setText(event.target.value)}
            />
          </Field>
          {example && (
            <Button small onClick={() => setText(example.join(", "))}>
              Insert a test row
            </Button>
          )}
          {row && image && <Pixels row={row} image={image} size={112} label="The values as a picture" />}
        </div>
      }
      right={
        row ? (
          <PredictionForRow ensemble={ensemble} row={row} deadlineMs={deadlineMs} />
        ) : (
          <Empty title="Paste a row" hint={`The networks expect ${ensemble.features} numbers.`} />
        )
      }
    />
  );
}

function read(text: string, features: number): { row: number[] | null; problem: string } {
  try {
    return { row: parseRow(text, features), problem: "" };
  } catch (error) {
    return { row: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

function imageOf(found: Samples | undefined): Image | null {
  return found?.image ? { ...found.image, low: found.low, high: found.high } : null;
}
