// Adds a sweep or a trial to the comparison, or removes it.
import { usePaletteActions } from "../palette/palette-actions";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { add, type Kind, remove, useBasket } from "./comparison-basket";
import "./comparison-basket.css";

type Props = { kind: Kind; id: number; name: string; iconOnly?: boolean };

export function BasketButton({ kind, id, name, iconOnly = false }: Props) {
  const isIn = useBasket()[kind].includes(id);
  const change = () => (isIn ? remove(kind, id) : add(kind, [id]));
  usePaletteActions(
    iconOnly
      ? []
      : [{ name: isIn ? `Remove ${name} from the comparison` : `Add ${name} to the comparison`, run: change }],
  );
  return (
    <Button
      quiet
      small
      title={isIn ? "Remove from the comparison" : "Add to the comparison"}
      aria-label={`Compare ${name}`}
      aria-pressed={isIn}
      className={isIn ? "basket-in" : undefined}
      onClick={change}
    >
      <Icon name="compare" size={14} />{" "}
      {!iconOnly && <span className="basket-text">{isIn ? "In the comparison" : "Compare"}</span>}
    </Button>
  );
}
