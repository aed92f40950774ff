/** Errors to answers: problem+json (RFC 9457) for what is known, an opaque 500 for the rest. */
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { BoardRefusedError } from '../boards/board-errors.ts';
import { OutdatedBoardError } from '../boards/part-reader.ts';
import { ApiError, ERRORS, problemType } from '../errors.ts';
import {
  BrokenStreamError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../lib/store-errors.ts';
import { QuestionError, QuestionRefusedError } from '../streams/questions/question.ts';
import { RegistryRefusedError } from '../streams/registry-errors.ts';
import { WindowError } from '../streams/window.ts';
import type { problem } from './answer-schemas.ts';
import { ClientGoneError } from './body-reader.ts';
import { requestIdOf } from './request-log.ts';
import { matchingRoutes, type RouteMatch, type RouteSpec } from './route.ts';
import { PROBLEM_TYPE, sendBytes } from './send-json.ts';

/** For paths that no route serves, and methods that a path does not know. */
export function unknownPath(routes: readonly RouteSpec[]): RequestHandler {
  return (request) => {
    const matches = matchingRoutes(routes, request.path);
    if (matches.length === 0) throw new ApiError('not_found', 'there is nothing at this path');
    const parameter = badElement(matches, (text) => text === '');
    if (parameter !== undefined) {
      throw new ApiError('invalid_path', `${parameter}: must not be empty`, { parameter });
    }
    const methods = matches.map(({ route }) => route.method.toUpperCase());
    const known = methods.flatMap((name) => (name === 'GET' ? [name, 'HEAD'] : [name]));
    const allow = [...new Set(known)];
    throw new ApiError('method_not_allowed', `this path knows ${allow.join(', ')}`, { allow });
  };
}

/** Express stops at a path that it cannot decode, but does not say at which element. */
export function undecodablePath(routes: readonly RouteSpec[]): ErrorRequestHandler {
  return (error: unknown, request, _response, next) => {
    if (!(error instanceof URIError)) {
      next(error);
      return;
    }
    const parameter = badElement(matchingRoutes(routes, request.path), isUndecodable) ?? '';
    const detail = `${parameter}: not the percent-encoding of valid UTF-8`;
    next(new ApiError('invalid_path', detail, { parameter }));
  };
}

export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    if (error instanceof ClientGoneError || response.headersSent) {
      response.destroy();
      return;
    }
    const apiError = toApiError(error);
    if (apiError.code === 'internal_error') {
      logger.error({ err: error, requestId: requestIdOf(response) }, 'request failed');
    }
    sendProblem(response, apiError);
  };
}

function badElement(
  matches: readonly RouteMatch[],
  isBad: (text: string) => boolean,
): string | undefined {
  return matches.flatMap(({ elements }) => elements).find(({ text }) => isBad(text))?.name;
}

function isUndecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return false;
  } catch {
    return true;
  }
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailableError) {
    return new ApiError('store_unavailable', 'the store cannot be reached now');
  }
  if (error instanceof OutcomeUnknownError) {
    return new ApiError('outcome_unknown', 'the request may have been applied or not');
  }
  if (error instanceof BrokenStreamError) {
    return new ApiError('stream_damaged', 'what the store holds of this stream is damaged');
  }
  if (error instanceof RegistryRefusedError) {
    const { code, message, parameter } = error;
    return new ApiError(code, message, parameter === null ? {} : { parameter });
  }
  if (error instanceof BoardRefusedError) {
    const { code, message, parameter, index } = error;
    return new ApiError(code, message, {
      ...(parameter === null ? {} : { parameter }),
      ...(index === null ? {} : { index }),
    });
  }
  if (error instanceof OutdatedBoardError) {
    return new ApiError('store_unavailable', 'the parts of the board change all the time');
  }
  if (error instanceof QuestionRefusedError) return refusedQuestion(error.reason, error.index);
  if (error instanceof QuestionError || error instanceof WindowError) return refusedQuestion(error);
  return new ApiError('internal_error', 'the log has the details under this request id');
}

function refusedQuestion(error: QuestionError | WindowError, index?: number): ApiError {
  const { message, parameter } = error;
  const details = { parameter, ...(index === undefined ? {} : { index }) };
  return error instanceof QuestionError
    ? new ApiError(error.code, message, details)
    : new ApiError('invalid_parameter', `${parameter}: ${message}`, details);
}

function sendProblem(response: Response, error: ApiError): void {
  const { parameter, index, rejected, errors, reasons, allow } = error.details;
  const body: z.input<typeof problem> = {
    type: problemType(error.code),
    title: ERRORS[error.code].title,
    status: error.status,
    code: error.code,
    detail: error.message,
    instance: requestIdOf(response),
    ...(parameter === undefined ? {} : { parameter }),
    ...(index === undefined ? {} : { index }),
    ...(rejected === undefined ? {} : { rejected }),
    ...(errors === undefined ? {} : { errors: [...errors] }),
    ...(reasons === undefined ? {} : { reasons: [...reasons] }),
  };
  if (allow !== undefined) response.setHeader('Allow', allow.join(', '));
  if (error.retryAfterSeconds !== undefined) {
    response.setHeader('Retry-After', error.retryAfterSeconds);
  }
  response.setHeader('Cache-Control', 'no-store');
  sendBytes(response, error.status, PROBLEM_TYPE, Buffer.from(JSON.stringify(body)));
}
