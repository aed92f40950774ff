/** What paths and options of requests are made of. */
import { invalidArgument, type RequestOptions } from './transport.ts';

/** `.` and `..` would be taken for steps in the path; a lone surrogate has no UTF-8 form. */
export function pathElement(text: string): string {
  if (text === '' || text === '.' || text === '..' || !isWellFormed(text)) {
    throw invalidArgument(`${JSON.stringify(text)} cannot be used as a name`);
  }
  return encodeURIComponent(text);
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

export function requestOptionsOf(options: RequestOptions): RequestOptions {
  const { signal, attempts } = options;
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(attempts === undefined ? {} : { attempts }),
  };
}
