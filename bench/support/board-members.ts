/** The members of the board that is measured, whose ranks are known without looking. */

/** As redis-benchmark writes its random numbers. */
const DIGITS = 12;
/** Prime, so that every member has a score of its own. */
const STRIDE = 7_919;

export function memberName(index: number): string {
  return `user:${String(index).padStart(DIGITS, '0')}`;
}

/** From 1 to `members`, each once. */
export function scoreOfMember(index: number, members: number): number {
  return 1 + ((index * STRIDE) % members);
}

export function rankOfMember(index: number, members: number): number {
  return members - scoreOfMember(index, members) + 1;
}
