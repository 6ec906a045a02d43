// The menu that saves a chart as PNG, SVG or CSV. Files are named after what the page is about, and the chart.
import { useContext } from "react";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { Menu } from "../widgets/menu";
import { toast } from "../widgets/toast";
import { type ExportKind, exportFigure, type Figure, type Rows } from "./export-file";
import { Subject } from "./export-subject";
import "./plot.css";

const KINDS: readonly ExportKind[] = ["png", "svg", "csv"];
const CSV: readonly ExportKind[] = ["csv"];

/** The menu below a table, which has no picture. */
export function ExportTable({ name, rows }: { name: string; rows: () => Rows }) {
  return (
    <div className="plot-foot plot-foot-end">
      <ExportMenu name={name} kinds={CSV} figure={() => ({ name, title: name, draw: () => undefined, rows })} />
    </div>
  );
}

type MenuProps = { name: string; figure: () => Figure; kinds?: readonly ExportKind[] };

/** `figure` is called on a click only: it may prepare many rows. */
export function ExportMenu({ name, figure, kinds = KINDS }: MenuProps) {
  const subject = useContext(Subject);
  const save = (kind: ExportKind) =>
    exportFigure(figure(), kind, subject).catch(error =>
      toast(error instanceof Error ? error.message : String(error), "failed"),
    );
  return (
    <Menu quiet label={<Icon name="download" size={15} />} name={`Export ${name}`}>
      {kinds.map(kind => (
        <Button key={kind} quiet onClick={() => void save(kind)}>
          {kind.toUpperCase()}
        </Button>
      ))}
    </Menu>
  );
}
