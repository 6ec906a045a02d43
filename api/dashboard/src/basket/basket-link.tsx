// The link to the comparison in the top bar, while something is in the basket.
import { Link } from "wouter";
import { Icon } from "../widgets/icon";
import { compareHref, count, useBasket } from "./comparison-basket";
import "./comparison-basket.css";

export function BasketLink() {
  const basket = useBasket();
  const items = count(basket);
  if (items === 0) return null;
  const name = `Compare ${items} ${items === 1 ? "item" : "items"}`;
  return (
    <Link href={compareHref(basket)} className="basket-link" aria-label={name} title={name}>
      <Icon name="compare" size={16} />
      <span className="basket-count">{items}</span>
    </Link>
  );
}
