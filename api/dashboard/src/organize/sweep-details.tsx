// What users wrote about a sweep, in the header of its page: star, project, tags, owner, and their commands.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { BasketButton } from "../basket/basket-button";
import { usePaletteActions } from "../palette/palette-actions";
import type { Sweep } from "../sweep/sweep";
import { useIsViewer } from "../use-session";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { attempt } from "../widgets/toast";
import { canArchive, changeDetails } from "./details";
import { DetailsDialog } from "./details-dialog";
import { SweepLabels } from "./filter-links";
import { Star } from "./star";
import "./organize.css";

const MOST_TAGS = 3; // in the head of a page, which stays small

export function SweepDetails({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient();
  const isViewer = useIsViewer();
  const [isEditing, setEditing] = useState(false);
  const archive = () =>
    void attempt(
      () => changeDetails(queries, sweep.id, { archived: !sweep.archived }),
      sweep.archived ? "Listed again" : "Archived: find it with the filter is:archived",
    );
  const star = () =>
    void attempt(
      () => changeDetails(queries, sweep.id, { starred: !sweep.starred }),
      sweep.starred ? "Star removed" : "Starred",
    );
  const mayArchive = !isViewer && (sweep.archived || canArchive(sweep));
  const archiveText = sweep.archived ? "List again" : "Archive";
  usePaletteActions([
    ...(isViewer
      ? []
      : [
          { name: `Edit name, project, tags and description of ${sweep.name}`, run: () => setEditing(true) },
          { name: `${sweep.starred ? "Remove the star of" : "Star"} ${sweep.name}`, run: star },
        ]),
    ...(mayArchive ? [{ name: `${archiveText}: ${sweep.name}`, run: archive }] : []),
  ]);
  return (
    <>
      <div className="sweep-details">
        <Star sweep={sweep} />
        <SweepLabels sweep={sweep} most={MOST_TAGS} />
        {!isViewer && (
          <Button command quiet small title="Edit details" onClick={() => setEditing(true)}>
            <Icon name="pencil" size={14} />
          </Button>
        )}
        {mayArchive && (
          <Button command quiet small title={archiveText} onClick={archive}>
            <Icon name="archive" size={14} />
          </Button>
        )}
        <BasketButton kind="sweeps" id={sweep.id} name={sweep.name} />
      </div>
      {isEditing && <DetailsDialog sweep={sweep} onClose={() => setEditing(false)} />}
    </>
  );
}
