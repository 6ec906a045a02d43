// Which service of the database leads, and which stand by; nothing for a service that is alone.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { formatDuration } from "../format";
import { keys } from "../query-keys";

export type Services = Schemas["ServicesView"];

const SERVICES_MS = 5_000; // the age of the lease is no event

export function ServicesLine() {
  const services = useQuery<Services>({
    queryKey: keys.devices("services"),
    refetchInterval: query => (query.state.data?.leader?.epoch === 0 ? false : SERVICES_MS),
    queryFn: ({ signal }) => done(api.GET("/api/v1/services", { signal })),
  });
  if (!services.data || services.data.leader?.epoch === 0) return null;
  const { leader, standbys } = services.data;
  return (
    <p className="devices-services">
      {leader === null ? "No service leads." : leaderText(leader)}{" "}
      {standbys.length === 0 ? "No service stands by." : standbys.map(standbyText).join(" ")}
    </p>
  );
}

function leaderText(leader: NonNullable<Services["leader"]>): string {
  const lease = leader.expired ? "its lease has expired" : `lease renewed ${formatDuration(leader.renewed_s)} ago`;
  const self = leader.answers ? " (this service)" : "";
  return `${leader.host}${self} leads for ${formatDuration(leader.held_s)}, epoch ${leader.epoch}, ${lease}.`;
}

function standbyText(standby: Services["standbys"][number]): string {
  return `${standby.host}${standby.answers ? " (this service)" : ""} stands by.`;
}
