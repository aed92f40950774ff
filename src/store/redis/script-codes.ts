import type { PutOutcome } from '../../lib/document-store.ts';
import type { AppendOutcome, CommitOutcome } from '../../streams/store-port.ts';
import { unexpectedReply } from './replies.ts';

/** What `append.lua` returns for a request. */
const APPEND_CODES = {
  applied: 1,
  duplicate: 2,
  keyReused: -1,
  backlogFull: -2,
  idsFull: -3,
} as const;

/** What `commit-fold.lua` and `commit-compaction.lua` return. */
const COMMIT_CODES = { applied: 0, conflict: -1 } as const;

/** What `delete-share.lua` returns. */
export const SHARE_DELETED = 0;

/** What `put-documents.lua` returns for a put. */
const PUT_CODES = { applied: 1, conflict: -1, full: -2 } as const;

export function appendOutcome(code: unknown, answer: string): AppendOutcome {
  switch (code) {
    case APPEND_CODES.applied:
      return { kind: 'applied' };
    case APPEND_CODES.duplicate:
      return { kind: 'duplicate', answer };
    case APPEND_CODES.keyReused:
      return { kind: 'key_reused' };
    case APPEND_CODES.backlogFull:
      return { kind: 'backlog_full' };
    case APPEND_CODES.idsFull:
      return { kind: 'ids_full' };
    default:
      throw unexpectedReply('append', code);
  }
}

export function commitOutcome(code: unknown): CommitOutcome {
  switch (code) {
    case COMMIT_CODES.applied:
      return 'applied';
    case COMMIT_CODES.conflict:
      return 'conflict';
    default:
      throw unexpectedReply('commit', code);
  }
}

export function putOutcome(code: unknown): PutOutcome {
  switch (code) {
    case PUT_CODES.applied:
      return 'applied';
    case PUT_CODES.conflict:
      return 'conflict';
    case PUT_CODES.full:
      return 'full';
    default:
      throw unexpectedReply('put-documents', code);
  }
}
