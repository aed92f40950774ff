/**
 * What Express costs by itself, in a process of its own: bodies that are parsed and thrown away,
 * and a hello-world whose body has a given size.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { answerParent } from './servers-child.ts';

export interface ExpressRequest {
  /** `GET /` answers with this. */
  readonly hello: string;
}

export interface ExpressReply {
  readonly url: string;
}

const BODY_LIMIT = '8mb';

answerParent(async ({ hello }: ExpressRequest): Promise<ExpressReply> => {
  const body = Buffer.from(hello);
  const app = express();
  // Without these two it is faster: the baseline is not to be weak.
  app.disable('etag');
  app.disable('x-powered-by');
  app.get('/', (_request, response) => {
    response.type('json').send(body);
  });
  app.post('/v1/events', express.json({ limit: BODY_LIMIT }), (_request, response) => {
    response.status(202).json({ accepted: 0, rejected: 0, duplicate: 0, errors: [] });
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
