// Drains a device with a reason, and returns it to service.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, done } from "../api";
import { keys } from "../query-keys";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { attempt, toast } from "../widgets/toast";
import { type Device, isDrained } from "./device";

export function DrainControls({ device }: { device: Device }) {
  const [confirming, setConfirming] = useState(false);
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const path = { params: { path: { device_id: device.id } } };
  const again = () => queries.invalidateQueries({ queryKey: keys.devices() });
  const returnDevice = async () => {
    setBusy(true);
    await attempt(() => done(api.POST("/api/v1/devices/{device_id}/return", path)), `${device.id} returned to service`);
    await again();
    setBusy(false);
  };
  if (isDrained(device))
    return (
      <Button command small busy={busy} onClick={() => void returnDevice()} aria-label={`Return ${device.id}`}>
        Return
      </Button>
    );
  return (
    <>
      <Button command small onClick={() => setConfirming(true)} aria-label={`Drain ${device.id}`}>
        Drain…
      </Button>
      {confirming && (
        <Drain
          device={device}
          onClose={() => setConfirming(false)}
          run={async reason => {
            await done(api.POST("/api/v1/devices/{device_id}/drain", { ...path, body: { reason } }));
            toast(`${device.id} drained`);
            await again();
          }}
        />
      )}
    </>
  );
}

type DrainProps = { device: Device; onClose: () => void; run: (reason: string) => Promise<unknown> };

function Drain({ device, onClose, run }: DrainProps) {
  const [reason, setReason] = useState("");
  const runningNote = device.running ? ` Trial ${device.running.number} will finish.` : "";
  return (
    <Confirm
      title={`Drain ${device.id}`}
      action="Drain"
      onClose={onClose}
      run={() => run(reason.trim() || "drained on request")}
    >
      <p>No new trials start on it until it is returned, even after a restart of the service.{runningNote}</p>
      <Field label="Reason" hint="Shown next to the device and in its timeline.">
        <input
          value={reason}
          maxLength={500}
          placeholder="drained on request"
          onChange={event => setReason(event.target.value)}
        />
      </Field>
    </Confirm>
  );
}
