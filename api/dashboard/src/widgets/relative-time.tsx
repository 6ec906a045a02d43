// A relative time that updates; the exact time is in its title.
import { formatAgo, formatTime } from "../format";
import { useNow } from "../use-now";

const AGAIN_MS = 10_000;

export function RelativeTime({ time }: { time: string | null }) {
  return <span title={formatTime(time)}>{formatAgo(time, useNow(true, AGAIN_MS))}</span>;
}
