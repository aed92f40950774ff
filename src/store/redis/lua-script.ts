import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { OutcomeUnknownError } from '../../lib/store-errors.ts';
import type { RedisKey } from './keys.ts';

const SHEBANG = /^#!lua.*\n/;

export interface LuaScript {
  readonly source: string;
  readonly sha1: string;
}

/**
 * Reads `scripts/<name>.lua`, which lies beside this file in the sources and in the build. What
 * several scripts share is put in front of it, in the order given.
 */
export function loadScript(name: string, beginnings: readonly string[] = []): LuaScript {
  const body = readScript(name);
  // The flags of a script are its own.
  const shebang = SHEBANG.exec(body)?.[0] ?? '';
  const parts = [...beginnings.map(readScript), body].map((part) => part.replace(SHEBANG, ''));
  const source = shebang + parts.join('');
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

function readScript(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
}

export interface ScriptCall {
  readonly script: LuaScript;
  readonly keys: readonly RedisKey[];
  readonly args: readonly (string | number | Buffer)[];
}

/** A write counts as done only when this many replicas have it; too few in that time: unknown. */
export interface AckPolicy {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** What scripts take as their first argument: whether to write the fence key. */
export function fenceArg(ack: AckPolicy | null): '0' | '1' {
  return ack === null ? '0' : '1';
}

/**
 * Runs a script on this connection and answers its reply (texts as Buffers).
 *
 * With `ack`, WAIT follows the script in the same write on the same connection, since WAIT counts
 * only what its own connection wrote. That is also why EVALSHA is sent by hand: ioredis's
 * `defineCommand` would send the script again behind the WAIT when the server has forgotten it.
 */
export async function runScript(
  node: Redis,
  call: ScriptCall,
  ack: AckPolicy | null,
): Promise<unknown> {
  try {
    return await evaluate(node, 'EVALSHA', call.script.sha1, call, ack);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
      return evaluate(node, 'EVAL', call.script.source, call, ack);
    }
    throw error;
  }
}

async function evaluate(
  node: Redis,
  command: 'EVALSHA' | 'EVAL',
  body: string,
  call: ScriptCall,
  ack: AckPolicy | null,
): Promise<unknown> {
  const pipeline = node.pipeline();
  pipeline.callBuffer(command, body, call.keys.length, ...call.keys, ...call.args);
  if (ack !== null) {
    pipeline.wait(ack.replicas, ack.timeoutMs);
  }
  const [[scriptError, reply] = [], [waitError, replicas] = []] = (await pipeline.exec()) ?? [];
  if (scriptError) {
    throw scriptError;
  }
  if (ack === null) {
    return reply;
  }
  if (waitError) {
    throw waitError;
  }
  if (Number(replicas) < ack.replicas) {
    throw new OutcomeUnknownError(
      `written, but only ${Number(replicas)} of ${ack.replicas} replicas had it in time`,
    );
  }
  return reply;
}
