/**
 * The only error a sketch's decoder throws: the bytes are damaged, cut short or of a kind that
 * this version does not read. It concerns the one key they were stored under, and no other.
 */
export class SketchDecodeError extends Error {
  override readonly name = 'SketchDecodeError';
}
