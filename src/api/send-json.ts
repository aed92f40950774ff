import type { Response } from 'express';

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

export function sendJson(response: Response, status: number, body: unknown): void {
  sendBytes(response, status, JSON_TYPE, Buffer.from(JSON.stringify(body)));
}

/** Past Express's own `send`, whose ETag costs more than most answers here. */
export function sendBytes(response: Response, status: number, type: string, body: Buffer): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', body.length);
  response.end(body);
}
