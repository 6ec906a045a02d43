// Sends the same request for many trials, a few at a time, and counts successes and failures.

const AT_ONCE = 4;

export type Outcome = { done: number; refused: number; firstError: string };

export async function forEach(ids: readonly number[], run: (id: number) => Promise<unknown>): Promise<Outcome> {
  const left = [...ids];
  const outcome: Outcome = { done: 0, refused: 0, firstError: "" };
  const worker = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await run(id);
        outcome.done += 1;
      } catch (error) {
        outcome.refused += 1;
        outcome.firstError ||= error instanceof Error ? error.message : String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return outcome;
}

/** "3 trials stopped; 1 failed: …" */
export function outcomeText({ done, refused, firstError }: Outcome, verb: string): string {
  const first = `${done} ${done === 1 ? "trial" : "trials"} ${verb}`;
  return refused === 0 ? first : `${first}; ${refused} failed: ${firstError}`;
}
