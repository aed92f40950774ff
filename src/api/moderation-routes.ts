/** Which items a stream shows: lists, changes of them, who made them, and what waits. */
import { z } from 'zod';
import type { StreamQueries } from '../streams/queries.ts';
import type { StreamRegistry } from '../streams/registry.ts';
import { MODERATION_AUDIT_MAX } from '../streams/limits.ts';
import { queueAnswer } from './answer-schemas.ts';
import type { BodyReader } from './body-reader.ts';
import { BODY_ERRORS, readJson } from './json-body.ts';
import { queryShape, wholeNumber } from './parameters.ts';
import { presentQueue } from './presenters.ts';
import { QUERY_ERRORS } from './query-routes.ts';
import { QUEUE_PARAMETERS, queueQuestion } from './questions.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendJson } from './send-json.ts';
import { presentAudit, presentLists, presentSizes } from './stream-presenters.ts';
import {
  moderationAudit,
  moderationBody,
  moderationChanges,
  moderationLists,
  moderationSizes,
} from './stream-schemas.ts';
import { pathStream } from './text-schemas.ts';

const AUDIT_DEFAULT = 100;

const route = {
  method: 'get',
  tag: 'Moderation',
  path: '/v1/streams/{stream}/moderation',
  pathParameters: z.strictObject({ stream: pathStream }),
  query: z.strictObject({}),
  errors: ['invalid_path', 'unknown_parameter', 'stream_damaged', 'store_unavailable'],
} as const;

const CHANGE_ERRORS = [
  ...route.errors,
  ...BODY_ERRORS,
  'moderation_full',
  'too_many_streams',
  'outcome_unknown',
] as const;

const exportRoute = {
  ...route,
  summary: 'The lists, to be kept elsewhere or put back',
  answers: { 200: { description: 'Both lists.', schema: moderationLists } },
} as const;

const importRoute = {
  ...route,
  method: 'put',
  summary: 'Replace the lists',
  body: { description: 'Both lists.', content: { [JSON_TYPE]: { schema: moderationBody } } },
  answers: { 200: { description: 'They hold.', schema: moderationSizes } },
  errors: CHANGE_ERRORS,
} as const;

const changesRoute = {
  ...importRoute,
  method: 'post',
  path: '/v1/streams/{stream}/moderation/changes',
  summary: 'Block, unblock, allow or disallow items and prefixes',
  description: 'All changes or none. One that changes nothing is harmless and leaves no trace.',
  body: { description: 'The changes.', content: { [JSON_TYPE]: { schema: moderationChanges } } },
} as const;

const auditRoute = {
  ...route,
  path: '/v1/streams/{stream}/moderation/audit',
  summary: 'Who changed what, when and why',
  query: z.strictObject(
    queryShape({
      limit: wholeNumber(1, MODERATION_AUDIT_MAX, AUDIT_DEFAULT, 'How many entries to list.'),
    }),
  ),
  answers: { 200: { description: 'The last changes.', schema: moderationAudit } },
  errors: [...route.errors, 'repeated_parameter', 'invalid_parameter'],
} as const;

const queueRoute = {
  ...route,
  path: '/v1/streams/{stream}/moderation/queue',
  summary: 'What would be on top but waits for a decision (mode `review`)',
  query: z.strictObject(queryShape(QUEUE_PARAMETERS)),
  answers: { 200: { description: 'The items with the largest counts.', schema: queueAnswer } },
  errors: QUERY_ERRORS,
} as const;

export interface ModerationRoutesOptions {
  readonly registry: StreamRegistry;
  readonly queries: StreamQueries;
  readonly bodies: BodyReader;
}

export function moderationEndpoints(options: ModerationRoutesOptions): Endpoint[] {
  const { registry, queries, bodies } = options;
  return [
    endpoint(exportRoute, async ({ path: { stream } }, _request, response) => {
      sendJson(response, 200, presentLists(stream, await registry.of(stream)));
    }),
    endpoint(importRoute, async ({ path: { stream } }, request, response) => {
      const form = '{"by": ..., "blocked": {...}, "allowed": {...}}';
      const { by, reason, ...lists } = await readJson(request, bodies, moderationBody, form);
      const profile = await registry.importModeration(stream, lists, { by, reason });
      sendJson(response, 200, presentSizes(stream, profile));
    }),
    endpoint(changesRoute, async ({ path: { stream } }, request, response) => {
      const form = '{"by": ..., "changes": [...]}';
      const { by, reason, changes } = await readJson(request, bodies, moderationChanges, form);
      const profile = await registry.changeModeration(stream, changes, { by, reason });
      sendJson(response, 200, presentSizes(stream, profile));
    }),
    endpoint(auditRoute, async ({ path: { stream }, query }, _request, response) => {
      sendJson(response, 200, presentAudit(stream, await registry.of(stream), query.limit));
    }),
    endpoint(queueRoute, async ({ path: { stream }, query }, _request, response) => {
      const question = queueQuestion(stream, query);
      sendJson(response, 200, presentQueue(await queries.moderationQueue(question)));
    }),
  ];
}
