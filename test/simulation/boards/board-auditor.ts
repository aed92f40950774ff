/** The exact state of a board as its clients know it, and what any read must agree with. */
import type { PageAnswer } from '../../../src/boards/answers.ts';

export interface Posted {
  readonly entries: readonly { readonly member: string; readonly by: number }[];
  /** Whether any process has answered for it; until then it may be applied or not. */
  isAcknowledged: boolean;
}

/** What was certain when a read began. */
export type Certain = ReadonlyMap<string, number>;

export class BoardAuditor {
  readonly #posted: Posted[] = [];

  post(entries: Posted['entries']): Posted {
    const posted = { entries, isAcknowledged: false };
    this.#posted.push(posted);
    return posted;
  }

  /** Sums of what is acknowledged, or of all that was sent. */
  sums(of: 'acknowledged' | 'sent'): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { entries, isAcknowledged } of this.#posted) {
      if (of === 'acknowledged' && !isAcknowledged) continue;
      for (const { member, by } of entries) sums.set(member, (sums.get(member) ?? 0) + by);
    }
    return sums;
  }

  /** What is wrong with a page of all members, read while others wrote; null: nothing. */
  faultIn(page: PageAnswer, certain: Certain): string | null {
    const sent = this.sums('sent');
    const seen = new Set<string>();
    for (const [index, { member, score, rank }] of page.entries.entries()) {
      if (seen.has(member)) return `${member} is there twice`;
      seen.add(member);
      const [least, most] = [certain.get(member) ?? 0, sent.get(member) ?? 0];
      if (score < least || score > most) {
        return `${member} has ${score}, not from ${least} to ${most}`;
      }
      const before = page.entries[index - 1];
      if (before !== undefined && before.score < score) return `${member} is out of order`;
      if (rank !== index + 1) return `${member} has rank ${rank} at place ${index + 1}`;
    }
    for (const member of certain.keys()) {
      if (!seen.has(member)) return `${member} is missing`;
    }
    return page.of === page.entries.length ? null : `${page.of} members of ${seen.size}`;
  }

  /** What is wrong with a page of all members once everything is acknowledged; null: nothing. */
  faultAtEnd(page: PageAnswer): string | null {
    const sums = this.sums('acknowledged');
    const fault = this.faultIn(page, sums);
    if (fault !== null) return fault;
    const wrong = page.entries.find(({ member, score }) => sums.get(member) !== score);
    return wrong === undefined ? null : `${wrong.member} ended with ${wrong.score}`;
  }
}
