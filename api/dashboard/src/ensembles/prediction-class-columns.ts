// The classes of a prediction that get a column, and the most likely one.

/** The most likely class and its probability. */
export function likeliest(probabilities: readonly number[]): { index: number; share: number } {
  let index = 0;
  probabilities.forEach((share, at) => {
    if (share > (probabilities[index] ?? 0)) index = at;
  });
  return { index, share: probabilities[index] ?? 0 };
}

/** The classes that get a column: first each network's most likely class, then the next, at most `most`, in class order. */
export function columnsOf(answers: readonly (readonly number[])[], most: number): number[] {
  const count = answers[0]?.length ?? 0;
  const best = Array.from({ length: count }, (_, index) => ({
    index,
    share: Math.max(...answers.map(answer => answer[index] ?? 0)),
  }));
  const selected = best.sort((one, other) => other.share - one.share || one.index - other.index).slice(0, most);
  return selected.map(one => one.index).sort((one, other) => one - other);
}
