/** The plain recipe behind Express: a handler that awaits one command on one sorted set. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Redis } from 'ioredis';
import { answerParent } from './servers-child.ts';

export interface PlainRequest {
  readonly redisPort: number;
  readonly key: string;
}

export interface PlainReply {
  readonly url: string;
}

answerParent(async ({ redisPort, key }: PlainRequest): Promise<PlainReply> => {
  const redis = new Redis({ port: redisPort, host: '127.0.0.1' });
  const app = express();
  // Without these two it is faster: the baseline is not to be weak.
  app.disable('etag');
  app.disable('x-powered-by');
  app.post('/increment', express.json(), async (request, response) => {
    const { member, by } = request.body as { member: string; by: number };
    response.json({ score: Number(await redis.zincrby(key, by, member)) });
  });
  app.get('/top', async (_request, response) => {
    response.json(await redis.zrevrange(key, 0, 9, 'WITHSCORES'));
  });
  app.get('/rank', async (request, response) => {
    response.json(await redis.zrevrank(key, request.query['member'] as string));
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
