/**
 * A route as data: what it is called, what it takes, what it answers. The same description
 * validates requests and makes the OpenAPI document.
 */
import type { Express, Request, Response } from 'express';
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { parsePath, parseQuery } from './request-input.ts';

interface RequestBodySpec {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>>;
}

export interface AnswerSpec {
  readonly description: string;
  readonly mediaType?: string;
  readonly schema?: z.ZodType;
}

export interface RouteSpec<
  Path extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As in OpenAPI: `/v1/streams/{stream}/top`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: 'Events' | 'Queries' | 'Streams' | 'Moderation' | 'Boards' | 'Operations';
  /** Strings in, checked after percent-decoding. */
  readonly pathParameters: Path;
  /** Strict: a parameter that is not listed is refused. */
  readonly query: Query;
  readonly headers?: z.ZodObject;
  readonly body?: RequestBodySpec;
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  readonly errors: readonly ErrorCode[];
}

interface RouteInput<Path extends z.ZodObject, Query extends z.ZodObject> {
  readonly path: z.output<Path>;
  readonly query: z.output<Query>;
}

export type RouteHandler<Path extends z.ZodObject, Query extends z.ZodObject> = (
  input: RouteInput<Path, Query>,
  request: Request,
  response: Response,
) => Promise<void> | void;

/** A route that is served by this process. */
export interface Endpoint {
  readonly spec: RouteSpec;
  mount(app: Express): void;
}

export function endpoint<Path extends z.ZodObject, Query extends z.ZodObject>(
  spec: RouteSpec<Path, Query>,
  handle: RouteHandler<Path, Query>,
): Endpoint {
  return {
    spec,
    mount(app) {
      app[spec.method](expressPath(spec.path), (request, response) => {
        response.locals['route'] = spec.path;
        const path = parsePath(spec.pathParameters, request.params);
        return handle({ path, query: parseQuery(spec.query, request.url) }, request, response);
      });
    },
  };
}

function expressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export interface RouteMatch {
  readonly route: RouteSpec;
  /** The path's elements that stand for parameters, as they came: not decoded, perhaps empty. */
  readonly elements: readonly { readonly name: string; readonly text: string }[];
}

/**
 * Routes that a path fits, whatever the method: to say why Express found none. An empty element
 * fits a parameter, but for the last one, where it is no more than a trailing slash.
 */
export function matchingRoutes(routes: readonly RouteSpec[], path: string): RouteMatch[] {
  const texts = path.split('/');
  if (texts.at(-1) === '') return [];
  return routes.flatMap((route) => {
    const parts = route.path.split('/');
    if (parts.length !== texts.length) return [];
    const elements: { name: string; text: string }[] = [];
    for (const [index, part] of parts.entries()) {
      const text = texts[index] ?? '';
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (name !== undefined) elements.push({ name, text });
      else if (part !== text) return [];
    }
    return [{ route, elements }];
  });
}
