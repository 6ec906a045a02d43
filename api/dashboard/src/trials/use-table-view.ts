// What the table of trials shows, from the URL.
import { useQueryState } from "../url-query-state";
import { chosenFigures } from "./chosen-columns";
import { BEST_FIRST, type View } from "./table-query";

export type TableView = View & { setFilter: (filter: string) => void; setSort: (sort: string) => void };

export function useTableView(sweepId: number): TableView {
  const [filter, setFilter] = useQueryState("filter");
  const [sort, setSort] = useQueryState("sort", BEST_FIRST);
  const [columns] = useQueryState("columns");
  return { filter, setFilter, sort, setSort, figures: chosenFigures(columns, sweepId) };
}
