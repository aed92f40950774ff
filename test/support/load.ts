import type { TallyEvent } from '../../src/client/types.ts';
import { Prng } from '../../src/lib/prng.ts';
import { batchOf, type Ledger, type SentBatch } from './ledger.ts';

export interface LoadOptions {
  /** Servers that take events; each attempt goes to the next one. */
  readonly urls: readonly string[];
  readonly ledger: Ledger;
  readonly seed: number;
  readonly senders?: number | undefined;
}

/** Senders that work side by side and repeat each batch until it is acknowledged. */
export interface Load {
  /** How often an attempt ended so: `202`, a problem's code, `no answer`. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Resolves when every batch that was begun is acknowledged; rejects with what went wrong. */
  stop(): Promise<void>;
}

const SENDERS = 4;
const ITEM_COUNT = 200;
const ACTOR_COUNT = 300;
const EVENTS_PER_BATCH_MAX = 12;
const COUNT_MAX = 3;
/** Events of the past make minutes that are closed already: those get compacted. */
const PAST_MINUTES = [7, 8, 190];
const MINUTE_MS = 60_000;
/** Between batches, so that the servers under fire get a share of the machine. */
const PACE_MS = 10;
/** After a failure: a server that is being started again needs a moment. */
const RETRY_PAUSE_MS = 50;
const ATTEMPT_TIMEOUT_MS = 5_000;
const BATCH_DEADLINE_MS = 40_000;

export function startLoad(options: LoadOptions): Load {
  const outcomes = new Map<string, number>();
  const control = { isStopping: false };
  const work = Promise.all(
    Array.from({ length: options.senders ?? SENDERS }, (_, sender) =>
      send(options, sender, outcomes, control),
    ),
  );
  // Whoever stops the load gets to know it; until then it must not end the test run.
  work.catch(() => undefined);
  return {
    outcomes,
    stop: async () => {
      control.isStopping = true;
      await work;
    },
  };
}

/** One attempt. Rejects when there is no answer. */
export async function postBatch(url: string, batch: SentBatch): Promise<Response> {
  return fetch(`${url}/v1/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': batch.key },
    body: batch.body,
    signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
  });
}

async function send(
  { urls, ledger, seed }: LoadOptions,
  sender: number,
  outcomes: Map<string, number>,
  control: { readonly isStopping: boolean },
): Promise<void> {
  const prng = new Prng(seed * 1_000 + sender);
  for (let number = 0; !control.isStopping; number += 1) {
    const batch = batchOf(`load-${seed}-${sender}-${number}`, drawEvents(prng));
    const deadlineMs = performance.now() + BATCH_DEADLINE_MS;
    for (let attempt = 0; ; attempt += 1) {
      const url = urls[(sender + number + attempt) % urls.length] as string;
      const outcome = await attemptOnce(url, batch, ledger);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (outcome === '202') break;
      if (performance.now() > deadlineMs) {
        const seen = JSON.stringify(Object.fromEntries(outcomes));
        throw new Error(`${batch.key} was not acknowledged in ${BATCH_DEADLINE_MS} ms: ${seen}`);
      }
      await pause(RETRY_PAUSE_MS);
    }
    await pause(PACE_MS);
  }
}

async function attemptOnce(url: string, batch: SentBatch, ledger: Ledger): Promise<string> {
  let answer: unknown;
  let status: number;
  try {
    const response = await postBatch(url, batch);
    status = response.status;
    answer = await response.json();
  } catch {
    return 'no answer';
  }
  if (status === 202) {
    ledger.acknowledge(batch, answer);
    return '202';
  }
  return String((answer as { readonly code?: unknown }).code);
}

function drawEvents(prng: Prng): TallyEvent[] {
  return Array.from({ length: 1 + prng.nextInt(EVENTS_PER_BATCH_MAX) }, () => {
    // The product of two draws: a few items are much more frequent than the others.
    const item = `item ${Math.floor(prng.nextFloat() * prng.nextFloat() * ITEM_COUNT)}`;
    const count = 1 + prng.nextInt(COUNT_MAX);
    const minutesAgo = PAST_MINUTES[prng.nextInt(2 * PAST_MINUTES.length)];
    return {
      item,
      count,
      ...(prng.nextInt(4) === 0 ? {} : { actor: `actor ${prng.nextInt(ACTOR_COUNT)}` }),
      ...(minutesAgo === undefined ? {} : { at: Date.now() - minutesAgo * MINUTE_MS }),
    };
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
