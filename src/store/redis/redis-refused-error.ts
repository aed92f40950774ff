/**
 * This Redis, or what is stored in it, does not fit the settings: a human has to change one of
 * them. The message names the setting; trying again does not help.
 */
export class RedisRefusedError extends Error {
  override readonly name = 'RedisRefusedError';
}
