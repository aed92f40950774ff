import type { StreamStore } from '../../src/streams/store-port.ts';

type StoreMethod = Exclude<keyof StreamStore, 'partitionCount'>;

/** One call of the port. */
export interface StoreCall {
  readonly method: StoreMethod;
  readonly args: readonly unknown[];
}

/** Carries a call out with `run`, or does something else in its place. */
type Around = (call: StoreCall, run: () => Promise<unknown>) => Promise<unknown>;

/** A store's port that counts the calls, and lets a test come in between or answer itself. */
export class WatchedStore {
  readonly port: StreamStore;
  calls: StoreCall[] = [];
  around: Around = (_call, run) => run();

  constructor(store: StreamStore) {
    this.port = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const call = { method: name as StoreMethod, args };
          this.calls.push(call);
          return this.around(call, async () => Reflect.apply(value, target, args));
        };
      },
    });
  }

  callsOf(method: StoreMethod): StoreCall[] {
    return this.calls.filter((call) => call.method === method);
  }
}
