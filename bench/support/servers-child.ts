/** Processes of a bench's own: each answers one message at a time, and ends with its parent. */
import { type ChildProcess, fork } from 'node:child_process';

type Outcome<Reply> = { readonly reply: Reply } | { readonly error: string };

const CALL_TIMEOUT_MS = 120_000;

/** In the child: answers each message with what `handle` makes of it. */
export function answerParent<Request, Reply>(handle: (request: Request) => Promise<Reply>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', (request: Request) => {
    handle(request).then(
      (reply) => process.send?.({ reply }),
      (error: unknown) => {
        process.send?.({ error: error instanceof Error ? error.stack : String(error) });
      },
    );
  });
}

export class BenchChild<Request, Reply> {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  /** Runs a module that calls `answerParent` at its top level. */
  constructor(module: URL) {
    this.#child = fork(module, { stdio: 'inherit' });
    this.pid = this.#child.pid ?? 0;
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
    });
  }

  call(request: Request): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#child.off('message', onMessage).off('exit', onExit).off('error', onError);
      };
      const onMessage = (outcome: Outcome<Reply>): void => {
        settle();
        if ('reply' in outcome) resolve(outcome.reply);
        else reject(new Error(`a process of the bench failed: ${outcome.error}`));
      };
      const onError = (error: Error): void => {
        settle();
        reject(error);
      };
      const onExit = (): void => onError(new Error('a process of the bench has ended'));
      const timer = setTimeout(() => {
        onError(new Error(`a process of the bench did not answer within ${CALL_TIMEOUT_MS} ms`));
      }, CALL_TIMEOUT_MS);
      this.#child.on('message', onMessage).on('exit', onExit).on('error', onError);
      this.#child.send(request as object);
    });
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
