/** Why a whole batch was refused; nothing of it was applied. */
export type IngestRefusal = 'backlog_full' | 'ids_full' | 'key_reused';

export class IngestRefusedError extends Error {
  override readonly name = 'IngestRefusedError';
  readonly refusal: IngestRefusal;

  constructor(refusal: IngestRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/** An event that was not accepted, by its place in the request. */
export interface RejectedEvent {
  readonly index: number;
  readonly code: string;
}

/** How many events were not accepted, and the first of them (REJECTED_LISTED_MAX). */
export interface Rejection {
  readonly rejectedCount: number;
  readonly rejected: readonly RejectedEvent[];
}

/** A strict batch with events that had to be rejected; nothing of it was applied. */
export class StrictRefusedError extends Error {
  override readonly name = 'StrictRefusedError';
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super('events were rejected');
    this.rejection = rejection;
  }
}
