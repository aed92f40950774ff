import { isAscii as isAsciiOfNode, isUtf8 as isUtf8OfNode } from 'node:buffer';

/** Orders two well-formed strings by their UTF-8 bytes: negative, zero or positive. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return utf8Order(unitA) - utf8Order(unitB);
  }
  return a.length - b.length;
}

/** How many bytes a well-formed string takes in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * UTF-16 code units compare like UTF-8 bytes but for surrogates, which stand for the characters
 * above all others and so must come last.
 */
function utf8Order(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

export function isUtf8(bytes: Uint8Array): boolean {
  return isUtf8OfNode(bytes);
}

/** Whether every byte is below 128. */
export function isAscii(bytes: Uint8Array): boolean {
  return isAsciiOfNode(bytes);
}
