/** Why a question or a change was refused; nothing of it was applied. */
export type BoardRefusal =
  | 'board_not_found'
  | 'member_not_found'
  | 'season_not_found'
  /** A setting is out of range, or does not fit the others. */
  | 'invalid_settings'
  /** What is stored depends on the setting: it is set when the board is made. */
  | 'settings_fixed'
  | 'too_many_boards'
  /** An entry has `by` on a board that keeps scores, or `score` on one that adds up. */
  | 'wrong_score_field'
  /** More decimals than the board keeps, or no number that can be kept. */
  | 'invalid_score'
  /** The result would leave the safe integers (of the scaled score). */
  | 'out_of_range'
  /** The batch key was used with another body. */
  | 'key_reused'
  /** Parts remember as many ids as they may: later there is room again. */
  | 'ids_full'
  | 'invalid_cursor'
  | 'invalid_shards'
  /** Parts are being moved: one move at a time. */
  | 'move_under_way'
  /** Dense ranks over several parts need more distinct scores than are read at once. */
  | 'dense_ranks_too_large';

export class BoardRefusedError extends Error {
  override readonly name = 'BoardRefusedError';
  readonly code: BoardRefusal;
  /** The field at fault, where there is one. */
  readonly parameter: string | null;
  /** The entry at fault, where there is one. */
  readonly index: number | null;

  constructor(
    code: BoardRefusal,
    message: string,
    at: { readonly parameter?: string; readonly index?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.parameter = at.parameter ?? null;
    this.index = at.index ?? null;
  }
}
