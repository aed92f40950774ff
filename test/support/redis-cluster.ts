import { type RedisServer, startRedis } from './redis-server.ts';
import { until } from './until.ts';

export interface ClusterOptions {
  readonly primaries?: number | undefined;
  readonly replicasPerPrimary?: 0 | 1 | undefined;
  readonly appendfsync?: 'always' | 'everysec' | 'no' | undefined;
  /** More of redis-server's arguments, for every node. */
  readonly args?: readonly string[] | undefined;
}

/** A real Redis Cluster of this test's own, on loopback only. */
export interface RedisCluster {
  /** `redis+cluster://127.0.0.1:p1,127.0.0.1:p2,...` */
  readonly url: string;
  /** The primaries first, in the order of their slots, then their replicas in the same order. */
  readonly nodes: readonly RedisServer[];
  /** The node that answers for the key's slot now. */
  primaryOf(key: string): Promise<RedisServer>;
  /** The replicas that follow this primary. */
  replicasOf(primary: RedisServer): Promise<RedisServer[]>;
  /** SIGKILL for the primary, then waits until a replica was elected and the cluster is whole. */
  killAndFailOver(primary: RedisServer): Promise<RedisServer>;
  /**
   * Makes the replica the primary at once, without election and whatever it has missed: the
   * failover to a lagging copy.
   */
  promote(replica: RedisServer): Promise<void>;
  stop(): Promise<void>;
}

const SLOT_COUNT = 16_384;
/** Short, so that a test sees a failover in about two seconds. */
const NODE_TIMEOUT_MS = 1_000;

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicasPerPrimary = 0, appendfsync, args = [] } = options;
  const nodeArgs = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
    // A new replica syncs at once; by default its primary waits five seconds for others.
    ...['--repl-diskless-sync-delay', '0'],
    ...args,
  ];
  const nodeCount = primaries * (1 + replicasPerPrimary);
  const starts = await Promise.allSettled(
    Array.from({ length: nodeCount }, () => startRedis({ appendfsync, args: nodeArgs })),
  );
  const nodes = starts.filter((start) => start.status === 'fulfilled').map((start) => start.value);
  const cluster = new ClusterOfProcesses(nodes);
  try {
    for (const start of starts) {
      if (start.status === 'rejected') {
        throw start.reason;
      }
    }
    await cluster.form(primaries);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class ClusterOfProcesses implements RedisCluster {
  readonly nodes: readonly RedisServer[];
  readonly url: string;
  readonly #down = new Set<RedisServer>();

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
    this.url = `redis+cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`;
  }

  /** Gives the slots out, introduces the nodes to each other and attaches the replicas. */
  async form(primaryCount: number): Promise<void> {
    const [first, ...others] = this.nodes;
    if (first === undefined) {
      throw new Error('a cluster needs a node');
    }
    const primaries = this.nodes.slice(0, primaryCount);
    const replicas = this.nodes.slice(primaryCount);
    for (const [index, primary] of primaries.entries()) {
      const startSlot = Math.floor((index * SLOT_COUNT) / primaryCount);
      const endSlot = Math.floor(((index + 1) * SLOT_COUNT) / primaryCount) - 1;
      await primary.cli('CLUSTER', 'ADDSLOTSRANGE', String(startSlot), String(endSlot));
      // Different epochs from the start spare the nodes a round of conflict resolution.
      await primary.cli('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    }
    for (const node of others) {
      await node.cli('CLUSTER', 'MEET', '127.0.0.1', String(first.port));
    }
    await until('every node knows every other', () => this.#everyNode(this.#knowsAll));
    for (const [index, replica] of replicas.entries()) {
      const primary = primaries[index % primaryCount] as RedisServer;
      await replica.cli('CLUSTER', 'REPLICATE', await primary.cli('CLUSTER', 'MYID'));
    }
    await this.#untilWhole();
    await until('every replica is in step', () => allTrue(replicas.map(isInStep)));
    await until('every node knows every replica', () =>
      this.#everyNode(async (node) => (await countRoles(node, 'slave')) === replicas.length),
    );
  }

  async primaryOf(key: string): Promise<RedisServer> {
    const running = this.nodes.filter((node) => !this.#down.has(node));
    const asked = running[0] as RedisServer;
    const slot = Number(await asked.cli('CLUSTER', 'KEYSLOT', key));
    for (const line of await clusterNodes(asked)) {
      const ranges = line.slots.map((range) => range.split('-').map(Number));
      const owns = ranges.some(([low = -1, high = low]) => low <= slot && slot <= high);
      if (owns && line.flags.includes('master') && !line.flags.includes('fail')) {
        return this.#nodeAt(line.port);
      }
    }
    throw new Error(`no primary answers for slot ${slot}`);
  }

  async replicasOf(primary: RedisServer): Promise<RedisServer[]> {
    const lines = await clusterNodes(primary);
    const primaryId = lines.find((line) => line.port === primary.port)?.id;
    return lines
      .filter((line) => line.primaryId === primaryId)
      .map((line) => this.#nodeAt(line.port));
  }

  async killAndFailOver(primary: RedisServer): Promise<RedisServer> {
    const replicas = await this.replicasOf(primary);
    if (replicas.length === 0) {
      throw new Error('this primary has no replica to fail over to');
    }
    this.#down.add(primary);
    await primary.kill('SIGKILL');
    const elected = await firstPrimaryAmong(replicas);
    await this.#untilEveryNodeFollows(elected);
    return elected;
  }

  async promote(replica: RedisServer): Promise<void> {
    await replica.cli('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await this.#untilEveryNodeFollows(await firstPrimaryAmong([replica]));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  readonly #knowsAll = async (node: RedisServer): Promise<boolean> => {
    const lines = await clusterNodes(node);
    const isHandshaking = lines.some((line) => line.flags.includes('handshake'));
    return !isHandshaking && lines.length === this.nodes.length;
  };

  /** Gossip takes a moment: until then a node may still point to the primary before. */
  async #untilEveryNodeFollows(primary: RedisServer): Promise<void> {
    await until('every node knows the new primary', () =>
      this.#everyNode(async (node) => {
        const line = (await clusterNodes(node)).find(({ port }) => port === primary.port);
        return line?.flags.includes('master') === true && line.slots.length > 0;
      }),
    );
    await this.#untilWhole();
  }

  #untilWhole(): Promise<void> {
    return until('the cluster is whole', () =>
      this.#everyNode(async (node) =>
        (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'),
      ),
    );
  }

  #everyNode(holds: (node: RedisServer) => Promise<boolean>): Promise<boolean> {
    return allTrue(this.nodes.filter((node) => !this.#down.has(node)).map(holds));
  }

  #nodeAt(port: number): RedisServer {
    const node = this.nodes.find((candidate) => candidate.port === port);
    if (node === undefined) {
      throw new Error(`no node of this cluster listens on ${port}`);
    }
    return node;
  }
}

interface ClusterNodeLine {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly primaryId: string;
  /** Single slots and ranges, such as `0-5460`. */
  readonly slots: readonly string[];
}

/** CLUSTER NODES: `id host:port@bus flags primary-id ping pong epoch link slots...` a line. */
async function clusterNodes(node: RedisServer): Promise<ClusterNodeLine[]> {
  const text = await node.cli('CLUSTER', 'NODES');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const fields = line.trim().split(' ');
      const [id = '', address = '', flags = '', primaryId = ''] = fields;
      const port = Number(/:(\d+)@/.exec(address)?.[1]);
      return { id, port, flags: flags.split(','), primaryId, slots: fields.slice(8) };
    });
}

async function countRoles(node: RedisServer, role: 'master' | 'slave'): Promise<number> {
  return (await clusterNodes(node)).filter((line) => line.flags.includes(role)).length;
}

async function isInStep(replica: RedisServer): Promise<boolean> {
  return (await replica.cli('INFO', 'replication')).includes('master_link_status:up');
}

async function isPrimary(node: RedisServer): Promise<boolean> {
  return (await node.cli('INFO', 'replication')).includes('role:master');
}

/** Waits until one of the nodes is a primary. */
async function firstPrimaryAmong(nodes: readonly RedisServer[]): Promise<RedisServer> {
  const found: RedisServer[] = [];
  await until('a replica becomes a primary', async () => {
    for (const node of nodes) {
      if (await isPrimary(node)) {
        found.push(node);
      }
    }
    return found.length > 0;
  });
  return found[0] as RedisServer;
}

async function allTrue(checks: Promise<boolean>[]): Promise<boolean> {
  return (await Promise.all(checks)).every(Boolean);
}
