import { randomBytes } from 'node:crypto';
import { StoreUnavailableError } from '../../lib/store-errors.ts';
import type { RedisConnection } from './connection.ts';
import { slotOfHashTag } from './hash-slot.ts';
import { deploymentKeys } from './keys.ts';
import { type AckPolicy, fenceArg, loadScript, runScript } from './lua-script.ts';
import { RedisRefusedError } from './redis-refused-error.ts';

/** What all processes of a deployment share for ever; settled by the first one that starts. */
export interface Deployment {
  /** One hash tag for each partition; they decide which slots the partitions lie in. */
  readonly partitionTags: readonly string[];
  /** 16 hexadecimal digits: the key of the hash that all sketches use. */
  readonly hashSecret: string;
}

export interface DeploymentSettings {
  /** How many partitions there shall be; null: one for each primary, or what was settled. */
  readonly partitions: number | null;
  /** 16 hexadecimal digits; null: made at the first start, or what was settled. */
  readonly hashSecret: string | null;
  readonly ack?: AckPolicy | null | undefined;
}

const HASH_SECRET_BYTES = 8;

/**
 * What is stored where. 1 (which wrote no number) had no summaries of days: whole days of that time
 * would be missing in every answer, and nothing would say so.
 */
const STORE_LAYOUT = '2';

/**
 * Reads what was settled, or settles it. Safe when many processes start at once.
 * Rejects with RedisRefusedError when a setting differs from what was settled.
 */
export async function claimDeployment(
  connection: RedisConnection,
  settings: DeploymentSettings,
): Promise<Deployment> {
  const { partitions, hashSecret, ack = null } = settings;
  const primaryCount = connection.primaries().length;
  const proposal: Deployment = {
    partitionTags: spreadTags(connection, partitions ?? primaryCount),
    hashSecret: hashSecret ?? randomBytes(HASH_SECRET_BYTES).toString('hex'),
  };
  const script = loadScript('claim-deployment');
  const call = {
    script,
    keys: [deploymentKeys.deployment, deploymentKeys.fence],
    args: [
      fenceArg(ack),
      proposal.hashSecret,
      JSON.stringify(proposal.partitionTags),
      STORE_LAYOUT,
    ],
  };
  const settled = parseDeployment(
    await connection.writes.send(deploymentKeys.slot, (node) => runScript(node, call, ack)),
  );
  if (partitions !== null && partitions !== settled.partitionTags.length) {
    throw new RedisRefusedError(
      `TALLY_PARTITIONS is ${partitions}, but this deployment was started with ` +
        `${settled.partitionTags.length}: unset it, or use an empty Redis`,
    );
  }
  if (hashSecret !== null && hashSecret !== settled.hashSecret) {
    throw new RedisRefusedError(
      'TALLY_HASH_SECRET is not the secret this deployment was started with: unset it, or use an ' +
        'empty Redis',
    );
  }
  return settled;
}

/** Tags such that the i-th partition lies on the i-th primary, and so on round them. */
function spreadTags(connection: RedisConnection, count: number): string[] {
  const primaries = connection.primaries();
  return Array.from({ length: count }, (_, partition) => {
    const wanted = primaries[partition % primaries.length]?.address;
    for (let attempt = 0; ; attempt++) {
      const tag = `p${partition}.${attempt}`;
      if (connection.ownerOf(slotOfHashTag(tag)) === wanted) {
        return tag;
      }
    }
  });
}

function parseDeployment(reply: unknown): Deployment {
  const [hashSecret, tagsText, layout] = (reply as (Buffer | null)[]).map((value) =>
    String(value ?? ''),
  );
  const tags: unknown = parseJson(tagsText ?? '');
  if (
    hashSecret === undefined ||
    !/^[0-9a-f]{16}$/.test(hashSecret) ||
    !Array.isArray(tags) ||
    tags.length === 0 ||
    !tags.every((tag) => typeof tag === 'string')
  ) {
    throw new StoreUnavailableError(
      `the key ${deploymentKeys.deployment} in Redis is damaged: it must hold a secret and tags`,
    );
  }
  if (layout !== STORE_LAYOUT) {
    throw new RedisRefusedError(
      `this Redis was filled by another version of Tally (layout ${layout || '1'} instead of ` +
        `${STORE_LAYOUT}): use an empty Redis and import its history again`,
    );
  }
  return { hashSecret, partitionTags: tags };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
