/** Names that keys, JSON, Lua and texts of bytes could stumble over. */
const HOSTILE = [
  ...['a', 'b', 'aa', 'A', '0', '-1', '00', 'null', '__proto__', 'constructor', 'toString'],
  ...['{a}', '{}', 'a{b}c', '}{', ' ', '  a  ', 'a b', '%', '%s', '%00', '%%', 'a%2Fb'],
  ...['\0', 'a\0', '\0a', 'a\0b', '\n', '\r\n', '\t', '\u007f', "'", '"', '\\', '\\0', ':', '*'],
  ...['é', 'e\u0301', 'ß', 'ñandú', '名前', 'مرحبا', '\u200b', '\ufeff', '\uffff', '\ue000'],
  ...['\u{10000}', '\u{1f600}', '👩‍👩‍👧', '\u{10ffff}', '[1]', 'nan', 'inf', '1e5', '+inf', '(1'],
] as const;

const LONG = [
  'x'.repeat(512),
  'x'.repeat(511),
  `${'x'.repeat(511)}y`,
  'é'.repeat(256),
  '\u{1f600}'.repeat(128),
  '\0'.repeat(512),
  '{'.repeat(512),
];

export const MEMBERS: readonly string[] = [...HOSTILE, ...LONG];
