// Why a sweep is in its state, and why it waits, as text.
import type { Schemas } from "../api";

type Why = Pick<Schemas["SweepView"], "state" | "reason" | "wait_message">;

/** The reason of the state, and what the sweep waits for; "" without either. */
export function reasonText({ state, reason, wait_message }: Why): string {
  if (reason && wait_message)
    return state === "stopping" ? `${reason}; its last trials wait: ${wait_message}` : wait_message;
  return reason || wait_message;
}

/** What a running sweep waits for; "" if nothing. */
export function waitText({ wait_message }: Pick<Why, "wait_message">): string {
  return wait_message ? `Waits: ${wait_message}` : "";
}
