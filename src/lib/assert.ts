/** A broken promise between two places of this program; never caused by a caller's input. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

/** Throws `AssertionFailure` unless `condition` holds: for what only a bug can make false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) {
    throw new AssertionFailure(message);
  }
}
