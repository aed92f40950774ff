import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback that breaks connections at the moment a test chooses. */
export interface FaultProxy {
  readonly port: number;
  /**
   * The next request that holds this text reaches the server, but its reply does not come back:
   * the connection is cut instead. `times` requests, one after the other.
   */
  loseReplyTo(text: string, times?: number): void;
  /** How many replies were lost so. */
  readonly lostReplies: number;
  close(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new ProxyServer(targetPort);
  await proxy.listen();
  return proxy;
}

class ProxyServer implements FaultProxy {
  lostReplies = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #loss: { readonly text: string; timesLeft: number } | null = null;

  constructor(targetPort: number) {
    this.#server = createServer((client) => this.#join(client, connect(targetPort, '127.0.0.1')));
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') {
      throw new Error('this proxy does not listen');
    }
    return address.port;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', () => resolve());
    });
  }

  loseReplyTo(text: string, times = 1): void {
    this.#loss = { text, timesLeft: times };
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #join(client: Socket, server: Socket): void {
    let isDoomed = false;
    client.on('data', (chunk) => {
      isDoomed ||= this.#takesLoss(chunk);
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (isDoomed) {
        this.lostReplies += 1;
        client.destroy();
        server.destroy();
        return;
      }
      client.write(chunk);
    });
    for (const [socket, peer] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => peer.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        peer.destroy();
      });
    }
  }

  #takesLoss(chunk: Buffer): boolean {
    const loss = this.#loss;
    if (loss === null || loss.timesLeft === 0 || !chunk.includes(loss.text)) {
      return false;
    }
    loss.timesLeft -= 1;
    return true;
  }
}
