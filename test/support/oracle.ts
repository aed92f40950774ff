/** The exact answer to everything that a sketch estimates: a map of all counts. */
export class CountOracle {
  readonly #counts = new Map<string, number>();
  #total = 0;

  static of(events: Iterable<string>): CountOracle {
    const oracle = new CountOracle();
    for (const item of events) oracle.add(item, 1);
    return oracle;
  }

  get total(): number {
    return this.#total;
  }

  get items(): string[] {
    return [...this.#counts.keys()];
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  add(item: string, count: number): void {
    this.#counts.set(item, this.countOf(item) + count);
    this.#total += count;
  }

  /** Counts of both. */
  with(other: CountOracle): CountOracle {
    const sum = new CountOracle();
    for (const [item, count] of [...this.#counts, ...other.#counts]) sum.add(item, count);
    return sum;
  }

  countOf(item: string): number {
    return this.#counts.get(item) ?? 0;
  }

  /** All items by count descending, then by their bytes as Buffer.compare orders them. */
  ranking(): { readonly item: string; readonly count: number }[] {
    return [...this.#counts]
      .map(([item, count]) => ({ item, count, bytes: Buffer.from(item) }))
      .sort((a, b) => b.count - a.count || Buffer.compare(a.bytes, b.bytes))
      .map(({ item, count }) => ({ item, count }));
  }
}
