// One process at a time prepares a clone. The lock is a listening socket: the kernel frees it
// when its holder ends, however it ends, so there are no stale locks to detect.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs `work` while no other process runs such work for the same repository.
 *
 * @template T
 * @param {string} repository
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSetupLock(repository, work) {
  const address = lockAddress(repository);
  let lock = await tryToLock(address);
  while (lock === undefined) {
    await untilReleased(address);
    lock = await tryToLock(address);
  }
  try {
    return await work();
  } finally {
    lock();
  }
}

/** @param {string} repository */
function lockAddress(repository) {
  const id = createHash('sha256').update(repository).digest('hex').slice(0, 16);
  const name = `tally-setup-${id}`;
  // Linux has socket names outside the file system, which vanish with their socket.
  return process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`);
}

/**
 * @param {string} address
 * @returns {Promise<(() => void) | undefined>} what releases the lock; undefined: held elsewhere
 */
function tryToLock(address) {
  return new Promise((resolve, reject) => {
    /** @type {Set<import('node:net').Socket>} */
    const waiters = new Set();
    const server = createServer((waiter) => {
      waiters.add(waiter);
      // A waiter that ends while it waits is no matter of ours.
      waiter.once('error', () => {});
      waiter.once('close', () => waiters.delete(waiter));
    });
    server.once('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') {
        resolve(undefined);
      } else {
        reject(error);
      }
    });
    server.listen(address, () => {
      resolve(() => {
        server.close();
        for (const waiter of waiters) {
          waiter.destroy();
        }
      });
    });
  });
}

/**
 * The holder's end of this connection closes with the lock.
 *
 * @param {string} address
 * @returns {Promise<void>}
 */
function untilReleased(address) {
  return new Promise((resolve) => {
    const connection = connect(address);
    connection.once('error', (error) => {
      const isLeftOver = 'code' in error && error.code === 'ECONNREFUSED';
      if (isLeftOver && !address.startsWith('\0')) {
        rmSync(address, { force: true });
      }
      resolve();
    });
    connection.once('close', () => resolve());
  });
}
