/** Health, metrics and the API's own description: what operators and tools ask for. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { aliveAnswer, readyAnswer } from './answer-schemas.ts';
import type { HealthMonitor } from './health.ts';
import type { ApiMetrics } from './metrics.ts';
import { type Endpoint, endpoint, type RouteSpec } from './route.ts';
import { JSON_TYPE, sendBytes, sendJson } from './send-json.ts';

const NOTHING = z.strictObject({});
const HTML_TYPE = 'text/html; charset=utf-8';
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const ASSET_MAX_AGE = '1h';
const SWAGGER_FOLDER = dirname(
  createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'),
);

const DOCS_PAGE = Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Tally API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`);

/** In a file of its own, because the content security policy allows no script in the page. */
const DOCS_SCRIPT = Buffer.from(
  "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', validatorUrl: null });\n",
);

export interface OperationsOptions {
  readonly health: HealthMonitor;
  readonly metrics: ApiMetrics;
}

/** What every process serves, whatever its role. */
export function operationsEndpoints({ health, metrics }: OperationsOptions): Endpoint[] {
  return [
    endpoint(
      operation('/healthz', 'Is the process alive?', {
        200: { description: 'It is.', schema: aliveAnswer },
      }),
      (_input, _request, response) => sendJson(response, 200, { status: 'ok' }),
    ),
    endpoint(
      {
        ...operation('/readyz', 'Should the process get requests?', {
          200: { description: 'It should.', schema: readyAnswer },
        }),
        errors: ['not_ready'],
      },
      async (_input, _request, response) => {
        const { reasons, warnings } = await health.check();
        if (reasons.length > 0) throw new ApiError('not_ready', reasons.join('; '), { reasons });
        sendJson(response, 200, { status: 'ready', warnings });
      },
    ),
    endpoint(
      operation('/metrics', 'Metrics for Prometheus', {
        200: { description: 'Text exposition format.', mediaType: 'text/plain' },
      }),
      async (_input, _request, response) => {
        sendBytes(response, 200, metrics.contentType, Buffer.from(await metrics.text()));
      },
    ),
  ];
}

/** `/openapi.json` and the page that shows it; `document` is the JSON, made when first asked for. */
export function docsEndpoints(document: () => Buffer): Endpoint[] {
  return [
    endpoint(
      operation('/openapi.json', 'This description', {
        200: { description: 'OpenAPI 3.1.', mediaType: JSON_TYPE },
      }),
      (_input, _request, response) => sendBytes(response, 200, JSON_TYPE, document()),
    ),
    fixed('/docs', 'This description as a page', HTML_TYPE, DOCS_PAGE),
    fixed('/docs/start.js', 'Script of the page', SCRIPT_TYPE, DOCS_SCRIPT),
    asset('swagger-ui-bundle.js', 'Script of the page'),
    asset('swagger-ui.css', 'Style of the page'),
  ];
}

function fixed(path: string, summary: string, mediaType: string, content: Buffer): Endpoint {
  return endpoint(
    operation(path, summary, { 200: { description: summary, mediaType } }),
    (_input, _request, response) => sendBytes(response, 200, mediaType, content),
  );
}

function asset(file: string, summary: string): Endpoint {
  const mediaType = file.endsWith('.css') ? 'text/css' : 'text/javascript';
  return endpoint(
    operation(`/docs/${file}`, summary, { 200: { description: summary, mediaType } }),
    (_input, _request, response) => {
      response.sendFile(file, { root: SWAGGER_FOLDER, acceptRanges: false, maxAge: ASSET_MAX_AGE });
    },
  );
}

function operation(
  path: string,
  summary: string,
  answers: RouteSpec['answers'],
): RouteSpec<typeof NOTHING, typeof NOTHING> {
  return {
    method: 'get',
    path,
    summary,
    tag: 'Operations',
    pathParameters: NOTHING,
    query: NOTHING,
    answers,
    errors: ['unknown_parameter'],
  };
}
