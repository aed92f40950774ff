/** Why a change of a stream's settings or lists was refused; nothing of it was applied. */
export type RegistryRefusal =
  /** A setting is out of range, or does not fit the others. */
  | 'invalid_settings'
  /** The stream has events, and its retention may only shrink. */
  | 'retention_grows'
  /** A list of the moderation has no room for this. */
  | 'moderation_full'
  /** There is no room for one more stream. */
  | 'too_many_streams';

export class RegistryRefusedError extends Error {
  override readonly name = 'RegistryRefusedError';
  readonly code: RegistryRefusal;
  /** The field at fault, where there is one. */
  readonly parameter: string | null;

  constructor(code: RegistryRefusal, message: string, parameter: string | null = null) {
    super(message);
    this.code = code;
    this.parameter = parameter;
  }
}
