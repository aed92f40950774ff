/** Limits and delays of the streams room that are not settings, each with its reason. */
import { MINUTE_MS } from './buckets.ts';

const MIB = 2 ** 20;

/** A fold takes at most so much at once: its script runs for some milliseconds, not for seconds. */
export const FOLD_ENTRIES_MAX = 512;
export const FOLD_BYTES_MAX = 8 * MIB;
/** It asks for the indexes of so many shares at once. */
export const FOLD_INDEX_SLICE = 128;

/** An append carries at most so much; what waits beyond it goes with the next one. */
export const APPEND_REQUESTS_MAX = 64;
export const APPEND_BYTES_MAX = 4 * MIB;
/** Small batches without a client's key are summed up into one of at most so many events. */
export const SHARED_BATCH_EVENTS_MAX = 1_000;
/** A partition's queue in one process: beyond it ingest is refused, so that memory is bounded. */
export const APPEND_QUEUE_BYTES_MAX = 64 * MIB;
/** An append whose outcome is unknown is repeated so often, with growing pauses in between. */
export const APPEND_REPEATS_MAX = 3;
export const APPEND_REPEAT_PAUSE_MS = 150;

/** A stream's parts of one bucket: a fold that finds it full has it compacted first. */
export const BUCKET_PARTS_MAX = 256;
export const BUCKET_PART_BYTES_MAX = 16 * MIB;
/** Parts of a bucket are merged, or compacted once it is closed, when there are so many. */
export const BUCKET_PARTS_DUE = 16;
/** Parts of a closed bucket wait so long for company, so that late events come in bunches. */
export const PART_WAIT_MS = MINUTE_MS;
/** A bucket counts as closed a little after its end: entries take a moment to be folded. */
export const CLOSE_DELAY_MS = 2_000;
/** Larger parts are not merged with others. A part at its limit of items is always larger. */
export const PART_BYTES_MERGEABLE = MIB / 2;
/** The largest part that folding or merging may make. */
export const PART_BYTES_MAX = 8 * MIB;

/** How many streams a compaction visits before others get their turn. */
export const COMPACT_STREAMS_MAX = 64;

/** A read is begun anew so often when it is overtaken by writes. */
export const READ_ATTEMPTS_MAX = 8;

/** So many summaries or parts are asked for at once, and decoded while the next ones come. */
export const READ_SLICE = 8;

/** An answer further behind than this says so. */
export const LAGGING_MS = 5_000;

/** Points of one series. */
export const SERIES_POINTS_MAX = 1_500;

/** Rows of a ranking that can be left out before the first one shown. */
export const TOP_OFFSET_MAX = 10_000;
/** Rows that keep their rank of the window before; beyond it a row has none. */
export const PREVIOUS_RANKS_MAX = 500;
/** Streams whose actors are united in one answer. */
export const SET_STREAMS_MAX = 8;
/** Questions that are answered together. */
export const QUESTIONS_MAX = 20;
/** Summaries that an explanation lists. */
export const EXPLAINED_SUMMARIES_MAX = 2_000;

/** Rejected events that an answer names, and that are remembered with a client's key. */
export const REJECTED_LISTED_MAX = 100;

/** Dimensions that a stream may keep, and values of one and of all of them together. */
export const DIMENSIONS_MAX = 8;
export const DIMENSION_VALUES_MAX = 200;
export const DIMENSION_VALUES_DEFAULT = 50;
export const STREAM_VALUES_MAX = 400;
/** Bytes of a dimension's value. */
export const VALUE_BYTES_MAX = 128;

/** What a list of the moderation holds at most: its document is read and written as a whole. */
export const LISTED_ITEMS_MAX = 10_000;
export const LISTED_PREFIXES_MAX = 1_000;
export const LIST_BYTES_MAX = MIB;
/** Changes of the moderation that are remembered with who made them. */
export const MODERATION_AUDIT_MAX = 1_000;

/** A process knows the settings of all streams as they were at most so long ago. */
export const REGISTRY_FRESH_MS = 500;
/** A change of settings holds everywhere after so long, with clocks that differ a little. */
export const REGISTRY_SETTLE_MS = 2_000;
/** A store that is gone is waited for so long; then what was known last goes on to hold. */
export const REGISTRY_WAIT_MS = 500;
/** Documents are read and written so many at once, and so many bytes. */
export const REGISTRY_SLICE = 256;
export const REGISTRY_SLICE_BYTES = 4 * MIB;
/** A change that others overtake is begun anew so often. */
export const REGISTRY_ATTEMPTS_MAX = 16;

/** So many standard deviations above what is usual an item has to be to trend. */
export const TRENDING_SCORE_MIN = 5;
/** Earlier days, or windows, that say what is usual. */
export const BASELINE_DAYS_MAX = 28;
export const BASELINE_DAYS_DEFAULT = 7;
/** With fewer of them that have events, the windows right before are taken. */
export const BASELINE_DAYS_MIN = 2;
/** An item with fewer events now does not trend, unless the question says else. */
export const MIN_SUPPORT_DEFAULT = 10;
/** By actors: so many items with most actors are compared with what is usual. */
export const TRENDING_ACTOR_ITEMS_MAX = 500;
/** So many items of each window, those with most, say how busy the stream is. */
export const TRENDING_LARGEST = 50;
