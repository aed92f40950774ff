/** Answers from the cache, as long as what is set for their streams has not changed since. */
import type { Response } from 'express';
import type { StreamRegistry } from '../streams/registry.ts';
import type { AnswerCache } from './answer-cache.ts';
import { JSON_TYPE, sendBytes, sendJson } from './send-json.ts';

export interface Answering {
  readonly cache: AnswerCache;
  readonly registry: StreamRegistry;
}

/** What may be answered from the cache. */
export interface CachedQuestion {
  /** Which form the answer has. */
  readonly kind: string;
  /** All streams that it is about. */
  readonly streams: readonly string[];
  readonly question: { readonly explain?: boolean | undefined };
}

/**
 * Sends the answer that `read` makes, or one made for the same question a moment ago. Settings and
 * moderation are part of the question: what they hide is gone from all answers at once.
 */
export async function sendAnswer(
  response: Response,
  { cache, registry }: Answering,
  { kind, streams, question }: CachedQuestion,
  read: () => Promise<object>,
): Promise<void> {
  if (question.explain === true) {
    sendJson(response, 200, await read());
    return;
  }
  const profiles = await Promise.all(streams.map((stream) => registry.of(stream)));
  const versions = profiles.map(({ version }) => version);
  // JSON, so that no choice of names makes two questions look the same.
  const key = JSON.stringify([kind, streams, versions, question]);
  sendBytes(response, 200, JSON_TYPE, await cache.get({ streams, key }, read));
}
