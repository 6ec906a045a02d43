// The legend of all charts of the grid: hides a line or a group, or shows it alone.
import { useTheme } from "../theme";
import { setQuery } from "../url-query-state";
import { Button } from "../widgets/button";
import { type Colour, isShown, type LegendItem } from "./chart-scene";
import { cssOf } from "./draw-layer";
import { type Settings, toggleIn } from "./settings";

type LegendProps = { items: readonly LegendItem[]; settings: Settings; label: string };

export function Legend({ items, settings, label }: LegendProps) {
  useTheme(); // the colours follow it
  const isAll = settings.only === "" && settings.hidden.size === 0;
  return (
    <div className="curve-legend">
      <ul aria-label={label}>
        {items.map(item => (
          <li key={item.key} className={isShown(item.key, settings) ? undefined : "curve-legend-off"}>
            <button
              type="button"
              className="curve-legend-name"
              aria-pressed={isShown(item.key, settings)}
              title={`Show or hide ${item.label}`}
              onClick={() => {
                if (settings.only !== "") setQuery({ only: "" });
                else toggleIn("hide", settings.hidden, item.key);
              }}
            >
              <Sign colour={item.colour} dashed={item.dashed} />
              {item.label}
            </button>
            <button
              type="button"
              className="curve-legend-only"
              aria-pressed={settings.only === item.key}
              aria-label={`Only ${item.label}`}
              onClick={() => setQuery({ only: settings.only === item.key ? "" : item.key })}
            >
              only
            </button>
          </li>
        ))}
      </ul>
      {!isAll && (
        <Button small onClick={() => setQuery({ only: "", hide: "" })}>
          Show all
        </Button>
      )}
    </div>
  );
}

function Sign({ colour, dashed }: { colour: Colour; dashed: boolean }) {
  return (
    <svg className="curve-legend-sign" width={18} height={8} viewBox="0 0 18 8" aria-hidden="true">
      <path d="M0 4H18" stroke={cssOf(colour)} strokeWidth={2.5} strokeDasharray={dashed ? "4 3" : undefined} />
    </svg>
  );
}
