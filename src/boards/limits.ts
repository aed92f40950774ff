/** Limits of the boards room; those that a user may set are in config.ts. */

export const ENTRIES_MAX = 1_000;
export const K_MAX = 500;
export const AROUND_MAX = 500;
export const RANKS_MAX = 500;
export const BUCKETS_MAX = 50;
export const META_BYTES_MAX = 1_024;
export const DECIMALS_MAX = 6;
export const VIEWS_MAX = 5;
/** Ended seasons that a view keeps. */
export const KEEP_SEASONS_MAX = 12;
export const KEEP_SEASONS_DEFAULT = 5;
/** Distinct scores that are read from a part for dense ranks over several parts. */
export const DENSE_LEVELS_MAX = 20_000;
/** Members of a chunk, so that no script of a move takes long, divided by the seasons kept. */
export const CHUNK_ROWS_MAX = 1_000;
/** Rows that are read and thrown away rather than looking for the place of a page once more. */
export const SEEK_SLACK_ROWS = 64;
