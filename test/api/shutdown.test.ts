import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { gate, startTestTally } from '../support/tally.ts';
import { until } from '../support/until.ts';

const GRACE_MS = 10_000;

async function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

describe('closing', () => {
  test('finishes what is in flight, takes nothing new, and leaves no timer behind', async () => {
    const tally = await startTestTally();
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'append' ? opened : Promise.resolve());
    const pending = tally.send([{ item: 'a' }]);
    await until('it is at the store', () => tally.control.calls.has('append'));
    let isClosed = false;
    const closed = tally.close().then(() => {
      isClosed = true;
    });
    await until('nobody is let in', () => isRefused(tally.url));
    expect(isClosed).toBe(false);
    open();
    const answer = await pending;
    expect([answer.status, answer.json['accepted']]).toEqual([202, 1]);
    await closed;
    expect(tally.clock.sleeperCount).toBe(0);
    expect((await tally.store.readStats(0)).waitingEntries).toBe(1);
  });

  test('does not wait for a connection that becomes idle with the last answer', async () => {
    const tally = await startTestTally();
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'readIndex' ? opened : Promise.resolve());
    const { hostname, port } = new URL(tally.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /top HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('it is at the store', () => tally.control.calls.has('readIndex'));
    const ended = once(socket, 'close');
    socket.resume();
    const closed = tally.close();
    await until('nobody is let in', () => isRefused(tally.url));
    open();
    await closed;
    await ended;
  });

  test('does not wait for connections that are idle', async () => {
    const tally = await startTestTally();
    const { hostname, port } = new URL(tally.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    const ended = once(socket, 'close');
    await tally.close();
    await ended;
  });

  test('is not ready while it closes, and says that the connection ends', async () => {
    const tally = await startTestTally();
    const { hostname, port } = new URL(tally.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    // A request that has begun keeps its connection.
    socket.write('GET /readyz HTTP/1.1\r\n');
    await tally.get('/healthz');
    const closed = tally.close();
    await until('nobody is let in', () => isRefused(tally.url));
    socket.write('Host: a\r\n\r\n');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    await once(socket, 'close');
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toContain('Connection: close');
    expect(text).toContain('"reasons":["shutting down"]');
  });

  test('cuts off after the grace time what does not end', async () => {
    const tally = await startTestTally();
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'append' ? opened : Promise.resolve());
    const pending = tally.send([{ item: 'a' }]).catch((error: unknown) => error);
    await until('it is at the store', () => tally.control.calls.has('append'));
    const closed = tally.close();
    await tally.clock.advance(GRACE_MS);
    await closed;
    expect(await pending).toBeInstanceOf(TypeError);
    open();
  });

  test('may be asked for twice', async () => {
    const tally = await startTestTally();
    await Promise.all([tally.close(), tally.close()]);
  });
});
