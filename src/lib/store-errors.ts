/**
 * What a store may throw besides programmer errors. The rooms catch these and nothing else;
 * `api` turns them into 503 `store_unavailable` and 503 `outcome_unknown`.
 */

/** The store could not be reached or refused to work: for a write, nothing was applied. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** A write was sent and its outcome is not known: it may have been applied or not. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** The keys of one stream hold what they must not hold; other streams are not affected. */
export class BrokenStreamError extends Error {
  override readonly name = 'BrokenStreamError';
}
