// The images that a trial logged over steps: one frame for each name, with a slider over its steps.
import { useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useId, useState } from "react";
import { api, done, type Schemas } from "../../api";
import { formatCount } from "../../format";
import { keys } from "../../query-keys";
import { Checkbox } from "../../widgets/checkbox";
import { Panel } from "../../widgets/panel";
import { imageHref } from "./file-preview";
import { isImage } from "./files";
import type { Trial } from "./queries";
import "./file-preview.css";

type LoggedImage = Schemas["LoggedImageView"];

const SMALL = 160; // pixels: enlarged without blur

export function Images({ trial }: { trial: Trial }) {
  const version = String(trial.artifacts.filter(isImage).length);
  const { data = [] } = useQuery({
    queryKey: keys.trial(trial.id, "images", version),
    queryFn: ({ signal }) =>
      done(api.GET("/api/v1/trials/{trial_id}/images", { params: { path: { trial_id: trial.id } }, signal })),
  });
  const [step, setStep] = useState<number | null>(null); // null: the last one of each
  const [isLinked, setLinked] = useState(true);
  if (data.length === 0) return null;
  const several = data.length > 1 && data.some(image => image.steps.length > 1);
  const actions = several && <Checkbox label="Same step in all" on={isLinked} onChange={setLinked} />;
  const versions = new Map(trial.artifacts.map(file => [file.name, file.sha256]));
  return (
    <Panel title="Images" hint="Logged over steps." actions={actions}>
      <div className="images">
        {data.map(image => (
          <Frame
            key={image.name}
            trialId={trial.id}
            image={image}
            versions={versions}
            shared={isLinked && several ? step : undefined}
            onStep={setStep}
          />
        ))}
      </div>
    </Panel>
  );
}

type FrameProps = {
  trialId: number;
  image: LoggedImage;
  versions: ReadonlyMap<string, string>;
  shared: number | null | undefined; // the step of all frames; undefined: each has its own
  onStep: (step: number) => void;
};

function Frame({ trialId, image, versions, shared, onStep }: FrameProps) {
  const id = useId();
  const [own, setOwn] = useState<number | null>(null);
  const [isSmall, setSmall] = useState(false);
  const at = placeOf(image.steps, shared === undefined ? own : shared);
  const [step, file] = [image.steps[at] ?? 0, image.files[at] ?? ""];
  const choose = (place: number) => {
    const next = image.steps[place] ?? 0;
    setOwn(next);
    onStep(next);
  };
  const measure = ({ currentTarget: { naturalWidth, naturalHeight } }: SyntheticEvent<HTMLImageElement>) =>
    setSmall(Math.max(naturalWidth, naturalHeight) < SMALL);
  const shown = `step ${formatCount(step)}`;
  return (
    <figure>
      <figcaption className="mono">{image.name}</figcaption>
      <div className="images-frame">
        <img
          src={imageHref(trialId, file, versions.get(file) ?? "")}
          alt={`${image.name}, ${shown}`}
          className={isSmall ? "images-small" : undefined}
          onLoad={measure}
        />
      </div>
      {image.steps.length > 1 ? (
        <div className="images-slider">
          <input
            id={id}
            type="range"
            min={0}
            max={image.steps.length - 1}
            value={at}
            aria-label={`Step of ${image.name}`}
            aria-valuetext={shown}
            onChange={event => choose(Number(event.target.value))}
          />
          <label htmlFor={id}>{shown}</label>
        </div>
      ) : (
        <span className="trial-dim">{shown}</span>
      )}
    </figure>
  );
}

/** The place of the last step up to `step`, or of the first one; null is the end. */
export function placeOf(steps: readonly number[], step: number | null): number {
  if (step === null) return steps.length - 1;
  return Math.max(
    0,
    steps.findLastIndex(each => each <= step),
  );
}
