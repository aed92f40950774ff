/**
 * Request bodies: read whole, decompressed, within limits that count decompressed bytes. A body
 * that breaks a limit is not collected any further, so a gzip bomb costs no memory.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Request } from 'express';
import { ApiError } from '../errors.ts';

export type MediaType = 'application/json' | 'application/x-ndjson';

export interface BodyLimits {
  readonly maxBytes: number;
  /** Of all bodies that are being worked on. */
  readonly maxBytesInFlight: number;
}

const BYTE_ORDER_MARK = '\ufeff';

/** The client went away before its request was complete: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

export class BodyReader {
  readonly #limits: BodyLimits;
  #bytesInFlight = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  get bytesInFlight(): number {
    return this.#bytesInFlight;
  }

  /**
   * Hands the decompressed body to `work` and accounts for its bytes until that is done.
   *
   * @throws ApiError body_too_large, invalid_gzip, unsupported_encoding or overloaded
   * @throws ClientGoneError
   */
  async withBody<T>(request: Request, work: (body: Buffer) => Promise<T>): Promise<T> {
    const account = { bytes: 0 };
    try {
      return await work(await this.#read(request, account));
    } finally {
      this.#bytesInFlight -= account.bytes;
    }
  }

  #read(request: Request, account: { bytes: number }): Promise<Buffer> {
    const source = decompressed(request);
    if (source === request && Number(request.headers['content-length']) > this.#limits.maxBytes) {
      return Promise.reject(this.#tooLarge());
    }
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const refuse = (error: Error): void => {
        source.removeAllListeners('data');
        if (source !== request) {
          request.unpipe();
          source.destroy();
        }
        // What still comes is thrown away, so that the client gets to read the answer.
        request.resume();
        reject(error);
      };
      source.on('data', (chunk: Buffer) => {
        account.bytes += chunk.length;
        this.#bytesInFlight += chunk.length;
        chunks.push(chunk);
        if (account.bytes > this.#limits.maxBytes) refuse(this.#tooLarge());
        else if (this.#bytesInFlight > this.#limits.maxBytesInFlight) refuse(overloaded());
      });
      source.on('end', () => resolve(Buffer.concat(chunks)));
      source.on('error', (error: NodeJS.ErrnoException) => {
        if (source === request) reject(new ClientGoneError());
        else refuse(damagedGzip(error));
      });
      request.on('error', () => reject(new ClientGoneError()));
      request.on('close', () => {
        if (!request.complete) reject(new ClientGoneError());
      });
    });
  }

  #tooLarge(): ApiError {
    return new ApiError(
      'body_too_large',
      `a body may have ${this.#limits.maxBytes} bytes after decompression`,
    );
  }
}

/**
 * @throws ApiError unsupported_media_type unless the body is declared to be one of `allowed`,
 *   in UTF-8 where a charset is named
 */
export function mediaTypeOf(request: Request, allowed: readonly MediaType[]): MediaType {
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').split(';');
  const mediaType = allowed.find((candidate) => candidate === type.trim().toLowerCase());
  if (mediaType === undefined || !parameters.every(isHarmlessParameter)) {
    throw new ApiError('unsupported_media_type', `expected ${allowed.join(' or ')} in UTF-8`);
  }
  return mediaType;
}

/** @throws ApiError invalid_utf8 */
export function decodeUtf8(body: Buffer): string {
  if (!isUtf8(body)) throw new ApiError('invalid_utf8', 'the body holds bytes that are not UTF-8');
  const text = body.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** @throws ApiError invalid_json */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json', 'the body cannot be parsed as JSON');
  }
}

function isHarmlessParameter(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=');
  const charset = value.trim().toLowerCase().replaceAll('"', '');
  return name.trim().toLowerCase() !== 'charset' || charset === 'utf-8' || charset === 'utf8';
}

function decompressed(request: Request): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return request;
  if (encoding === 'gzip' || encoding === 'x-gzip') return request.pipe(createGunzip());
  throw new ApiError('unsupported_encoding', 'expected Content-Encoding gzip or none');
}

function damagedGzip(error: NodeJS.ErrnoException): ApiError {
  return new ApiError('invalid_gzip', `the body cannot be decompressed (${error.code ?? 'error'})`);
}

function overloaded(): ApiError {
  return new ApiError('overloaded', 'too many bytes of request bodies are being worked on');
}
