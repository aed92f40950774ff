import { z } from 'zod';

const EPOCH_MS = /^\d{1,15}$/;
/** The same form as the API takes. */
const isoTime = z.iso.datetime({ offset: true });

/**
 * Epoch ms of an ISO 8601 time. Null for anything else, a time without an offset among it: it
 * would mean another moment on another machine.
 */
export function parseIsoTime(text: string): number | null {
  return isoTime.safeParse(text).success ? Date.parse(text) : null;
}

/** Epoch ms from text that is either that number or an ISO 8601 time; else null. */
export function parseTimeText(text: string): number | null {
  return EPOCH_MS.test(text) ? Number(text) : parseIsoTime(text);
}
