/** Orders two ids of log entries (`<ms>-<n>`): negative, zero or positive. */
export function compareEntryIds(a: string, b: string): number {
  const [aMs, aCount] = numbersOf(a);
  const [bMs, bCount] = numbersOf(b);
  return aMs - bMs || aCount - bCount;
}

/** The time in an id, by the clock of the store that gave it. */
export function entryTimeMs(id: string): number {
  return numbersOf(id)[0];
}

function numbersOf(id: string): [number, number] {
  const dash = id.indexOf('-');
  return [Number(id.slice(0, dash)), Number(id.slice(dash + 1))];
}
