/**
 * Schemas of the texts that requests are made of. Sizes are bytes of UTF-8, as stated in the
 * contract; the limit in characters beside them only serves readers of the OpenAPI document.
 */
import { z } from 'zod';
import { utf8Length } from '../lib/utf8.ts';
import { VALUE_BYTES_MAX } from '../streams/limits.ts';

export const NAME_BYTES_MAX = 128;
export const ITEM_BYTES_MAX = 512;
/** Of a dimension's name, in an event. */
export const DIMENSION_BYTES_MAX = 64;
const REASON_BYTES_MAX = 512;
const UTF8_BYTES_PER_UNIT_MAX = 3;

/**
 * A text of 1..maxBytes bytes of UTF-8; a lone surrogate has no UTF-8 form and is refused. All in
 * one check: every check of the schema library costs as much as parsing the text's JSON.
 */
function text(maxBytes: number) {
  return z.string('expected a string').check((context) => {
    const fault = faultOf(context.value, maxBytes);
    if (fault !== null) {
      context.issues.push({ code: 'custom', message: fault, input: context.value });
    }
  });
}

function faultOf(value: string, maxBytes: number): string | null {
  if (value === '') return 'must not be empty';
  const fits = value.length * UTF8_BYTES_PER_UNIT_MAX <= maxBytes || utf8Length(value) <= maxBytes;
  if (!fits) return `must not be longer than ${maxBytes} bytes`;
  return isWellFormed(value) ? null : 'must be valid Unicode, without lone surrogates';
}

/** For the OpenAPI document, which knows no bytes: nothing longer can be right. */
function lengths(maxBytes: number) {
  return { override: { minLength: 1, maxLength: maxBytes } };
}

export const streamName = text(NAME_BYTES_MAX).meta({
  ...lengths(NAME_BYTES_MAX),
  description: `Name of a stream: 1 to ${NAME_BYTES_MAX} bytes of any valid UTF-8.`,
  example: 'default',
});

export const itemText = text(ITEM_BYTES_MAX).meta({
  ...lengths(ITEM_BYTES_MAX),
  description: `1 to ${ITEM_BYTES_MAX} bytes of any valid UTF-8.`,
  example: '/index.html',
});

export const actorText = text(ITEM_BYTES_MAX).meta({
  ...lengths(ITEM_BYTES_MAX),
  description: `Who did it, for distinct counts: 1 to ${ITEM_BYTES_MAX} bytes. Only a keyed hash is kept.`,
  example: '203.0.113.7',
});

export const dimensionText = text(DIMENSION_BYTES_MAX).meta(lengths(DIMENSION_BYTES_MAX));
export const dimensionValue = text(VALUE_BYTES_MAX).meta(lengths(VALUE_BYTES_MAX));

/** Of a person or program that makes a change. */
export const nameText = text(NAME_BYTES_MAX).meta({
  ...lengths(NAME_BYTES_MAX),
  description: `Who it is: 1 to ${NAME_BYTES_MAX} bytes.`,
  example: 'asha',
});
export const reasonText = text(REASON_BYTES_MAX).meta({
  ...lengths(REASON_BYTES_MAX),
  description: `Why: 1 to ${REASON_BYTES_MAX} bytes.`,
});

/** These would be taken for steps in the path by whatever stands in between. */
export const pathStream = streamName.refine(isNoPathStep, 'must not be "." or ".."');
export const pathItem = itemText.refine(isNoPathStep, 'must not be "." or ".."');

export const boardName = text(NAME_BYTES_MAX).meta({
  ...lengths(NAME_BYTES_MAX),
  description: `Name of a board: 1 to ${NAME_BYTES_MAX} bytes of any valid UTF-8.`,
  example: 'quiz',
});
export const pathBoard = boardName.refine(isNoPathStep, 'must not be "." or ".."');

export const memberText = text(ITEM_BYTES_MAX).meta({
  ...lengths(ITEM_BYTES_MAX),
  description: `A member: 1 to ${ITEM_BYTES_MAX} bytes of any valid UTF-8.`,
  example: 'ana',
});
export const pathMember = memberText.refine(isNoPathStep, 'must not be "." or ".."');

/** Of one increment. */
export const idText = text(ITEM_BYTES_MAX).meta({
  ...lengths(ITEM_BYTES_MAX),
  description: `Makes a retry of this increment harmless for an hour: 1 to ${ITEM_BYTES_MAX} bytes.`,
});

/** ISO 8601 with an offset; dates that do not exist are refused. */
export const isoTime = z.iso.datetime({ offset: true, error: 'expected an ISO 8601 time' });

function isNoPathStep(value: string): boolean {
  return value !== '.' && value !== '..';
}

/** In the engine since Node 20, in TypeScript's library only for later targets. */
export function isWellFormed(value: string): boolean {
  return (value as string & { isWellFormed(): boolean }).isWellFormed();
}
