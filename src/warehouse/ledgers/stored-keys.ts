/** A set of keys as it is stored: ids as runs, in ascending order, such as `1-100,103`; all other keys one by one. */
export interface StoredKeys {
  readonly ids: string;
  readonly others?: readonly string[];
}

/** Ids that a number holds exactly, without a sign or leading zeros. */
const ID = /^(?:0|[1-9]\d{0,14})$/;

export function toStored(keys: readonly string[]): StoredKeys {
  const ids: number[] = [];
  const others: string[] = [];
  for (const key of keys) {
    if (ID.test(key)) ids.push(Number(key));
    else others.push(key);
  }
  const runs: { from: number; to: number }[] = [];
  for (const id of ids.sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && id <= last.to + 1) last.to = id;
    else runs.push({ from: id, to: id });
  }
  const texts = runs.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  return { ids: texts.join(','), ...(others.length > 0 && { others }) };
}

export function fromStored({ ids, others = [] }: StoredKeys): string[] {
  const keys: string[] = [];
  for (const run of ids === '' ? [] : ids.split(',')) {
    const [from = 0, to = from] = run.split('-').map(Number);
    for (let id = from; id <= to; id++) keys.push(String(id));
  }
  return [...keys, ...others];
}
