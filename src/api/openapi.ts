/** The OpenAPI 3.1 document, made from the routes that are served. */
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { problem } from './answer-schemas.ts';
import type { AnswerSpec, RouteSpec } from './route.ts';
import { JSON_TYPE, PROBLEM_TYPE } from './send-json.ts';

const API_VERSION = '0.1.0';
/** These can be met on any path. */
const COMMON_ERRORS: readonly ErrorCode[] = ['internal_error'];

export type OpenApiDocument = ReturnType<typeof createDocument>;

export function openApiDocument(routes: readonly RouteSpec[]): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Tally',
      version: API_VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Top items in a window, distinct counts and series. Answers that hold an estimate carry ' +
        'its bounds; exact ones say so. A path that is not listed answers 404 `not_found`, a ' +
        'method that is not listed 405 `method_not_allowed`.',
    },
    servers: [{ url: '/' }],
    paths,
  });
}

function operationOf(route: RouteSpec): ZodOpenApiOperationObject {
  const { pathParameters: path, query, headers: header } = route;
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    requestParams: {
      ...(hasFields(path) ? { path } : {}),
      ...(hasFields(query) ? { query } : {}),
      ...(header === undefined ? {} : { header }),
    },
    ...(route.body === undefined ? {} : { requestBody: { ...route.body, required: true } }),
    responses: { ...answersOf(route), ...problemsOf([...route.errors, ...COMMON_ERRORS]) },
  };
}

function operationId({ method, path }: RouteSpec): string {
  return [method, ...path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')].join('_');
}

function hasFields(schema: z.ZodObject): boolean {
  return Object.keys(schema.shape).length > 0;
}

function answersOf(route: RouteSpec): ZodOpenApiOperationObject['responses'] {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [status, answerOf(answer)]),
  );
}

function answerOf({ description, mediaType, schema }: AnswerSpec) {
  if (schema === undefined && mediaType === undefined) return { description };
  return {
    description,
    content: { [mediaType ?? JSON_TYPE]: { schema: schema ?? z.unknown() } },
  };
}

/** One response for each status, which names the codes it may carry. */
function problemsOf(codes: readonly ErrorCode[]): ZodOpenApiOperationObject['responses'] {
  const codesByStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...codesByStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\`: ${ERRORS[name].title}.`).join(' '),
        content: { [PROBLEM_TYPE]: { schema: problem } },
      },
    ]),
  );
}
