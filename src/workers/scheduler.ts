/**
 * The port of the workers room: run jobs again and again. Jobs are safe to run twice at once, late,
 * or on any server, so an implementation need promise no more than "about every intervalMs, by
 * somebody".
 */
export interface Scheduler {
  /** Runs `job` about every `intervalMs`; in this process never while it still runs. */
  every(name: string, intervalMs: number, job: Job): Promise<void>;
  /** Starts nothing more and waits for what runs. */
  close(): Promise<void>;
}

/** What a rejection means is up to the observer: the job will run again anyway. */
export type Job = () => Promise<void>;

export interface JobObserver {
  done(name: string, durationMs: number): void;
  failed(name: string, durationMs: number, error: unknown): void;
}
