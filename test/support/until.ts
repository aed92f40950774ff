const DEADLINE_MS = 20_000;
const INTERVAL_MS = 20;

/**
 * Asks again and again until `holds`, for what happens in another process that announces nothing:
 * nodes that gossip, a server that comes up. Rejects, naming `what`, when it takes too long.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > endMs) {
      throw new Error(`waited ${deadlineMs} ms in vain until ${what}`);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, INTERVAL_MS);
    });
  }
}
