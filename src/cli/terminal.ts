/** Characters that a terminal acts on, or that change the order of what stands beside them. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]/gu;
const COMBINING = /^\p{M}$/u;
/** East Asian wide and full-width letters, and emoji: two columns each. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

const ELLIPSIS = '…';

/** Of a terminal; some do not know theirs and say 0. */
export function terminalSize({ columns, rows }: { columns?: number; rows?: number }): {
  readonly columns: number;
  readonly rows: number;
} {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || DEFAULT_ROWS };
}

/** Text that can be shown on any terminal: `\n`, escapes and bidi controls become `\u{...}`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** Columns that printable text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Cuts printable text to so many columns; what was cut off shows as an ellipsis. */
export function fit(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

/** `1234567` as `1,234,567`, whatever the machine's locale. */
export function grouped(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Cut to so many bytes and made printable: for showing input that may be anything. */
export function excerpt(bytes: Buffer, bytesMax: number): string {
  const text = printable(bytes.subarray(0, bytesMax).toString('utf8'));
  return bytes.length > bytesMax ? text + ELLIPSIS : text;
}

function characterWidth(character: string): number {
  // Nearly all text is ASCII; the classes are only asked about the rest.
  if (character < '\u0300') return 1;
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
