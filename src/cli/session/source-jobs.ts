import { createHmac } from 'node:crypto';
import type { Config, SourceConfig } from '../../config/config.ts';
import { columnTypeOf, fieldAt, fieldPaths, type Job, type Mask, wholeRowOf } from '../../engine/job.ts';
import { plainName } from '../../engine/records/secret-names.ts';
import { SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';

type Jobs = ReadonlyMap<string, Job>;

/** The jobs as the settings of a source want them: history, limits of rewrites, and what is not stored as it comes. */
export function jobsOf(source: SourceConfig, jobs: Jobs, hashKey: Config['hashKey']): Jobs {
  const { history, rewriteLimits } = source;
  const hash: Mask | null = hashKey === null ? null : hashWith(hashKey);
  return new Map(
    [...jobs].map(([name, job]) => {
      const rewriteShares = { ...job.rewriteShares, ...rewriteLimits[name] };
      const masks = masksOf(source, { name, job, hash });
      return [name, { ...job, history: history[name] ?? job.history, rewriteShares, masks }];
    }),
  );
}

function hashWith(key: string): Mask {
  const hash = (text: string) => createHmac('sha256', key).update(text).digest('hex');
  return { rule: 'hash', keyMark: hash('sluice').slice(0, 8), hash };
}

function masksOf(
  { never, hash: hashed }: SourceConfig,
  { name, job, hash }: { name: string; job: Job; hash: Mask | null },
): Job['masks'] {
  const masked = (texts: readonly string[], mask: Mask) =>
    texts.flatMap(text => fieldsIn(name, job, text).map(field => [field, mask] as const));
  return Object.fromEntries([...(hash ? masked(hashed, hash) : []), ...masked(never, { rule: 'never' })]);
}

/**
 * The fields of a list that a setting names: `customers.phone` those of one list, `phone` those of all. What has no column is named in plain
 * spelling, so that another spelling is no other rule.
 */
function fieldsIn(list: string, job: Job, text: string): string[] {
  const [first = '', ...rest] = text.split('.');
  const isBare = rest.length === 0;
  if (!isBare && first !== list) return [];
  const wanted = plainPath(isBare ? text : rest.join('.'));
  const declared = [...fieldPaths(job), ...Object.keys(job.children)].filter(
    path => plainPath(isBare ? (path.split('.').at(-1) ?? '') : path) === wanted,
  );
  return isBare || declared.length === 0 ? [...declared, wanted] : declared;
}

const plainPath = (path: string): string => path.split('.').map(plainName).join('.');

/** Throws the kind `configuration` for a field that cannot be kept from being stored, or that there is not. */
export function checkMasks({ sources, hashKey }: Pick<Config, 'sources' | 'hashKey'>, jobs: Jobs): void {
  for (const { name: source, never, hash } of sources) {
    const refuse = (setting: 'never' | 'hash', why: string, next: string): never => {
      const message = `SOURCE_${setting.toUpperCase()} (${setting} in the sources file) of the source ${source} ${why}.`;
      throw new SluiceError('configuration', message, { next: `${next} Nothing was started.` });
    };
    for (const [setting, texts] of [
      ['never', never],
      ['hash', hash],
    ] as const)
      for (const text of texts) {
        const [list = '', ...rest] = text.split('.');
        if (rest.some(part => plainName(part) === ''))
          refuse(setting, `names "${text}"`, 'Expected: such as customers.phone.');
        if (list !== text && !jobs.has(list))
          refuse(
            setting,
            `names "${text}", but there is no list "${list}"${didYouMean(list, [...jobs.keys()])}`,
            'Expected: such as customers.phone.',
          );
        const inside = [...jobs].find(([name, job]) =>
          fieldsIn(name, job, text).some(field => Object.hasOwn(job.children, field)),
        );
        if (inside)
          refuse(
            setting,
            `names "${text}", but in ${inside[0]} that is a list of rows`,
            `Expected: its fields, such as ${inside[0]}.${fieldPaths(inside[1]).find(path => path.includes('.'))}.`,
          );
        const needing = [...jobs].filter(([name, job]) =>
          fieldsIn(name, job, text).some(field => neededIn(job).includes(field)),
        );
        if (needing.length > 0)
          refuse(
            setting,
            `names "${text}", by which ${needing.map(([name]) => name).join(', ')} ${needing.length === 1 ? 'is' : 'are'} read`,
            'Without it, rows could not be told apart or compared.',
          );
      }
    for (const text of hash) {
      const [list = '', ...rest] = text.split('.');
      const job = jobs.get(list);
      const [field] = rest.length > 0 && job ? fieldsIn(list, job, text) : [];
      const schema = job && field !== undefined ? fieldAt(job, field) : undefined;
      const texts = job ? fieldPaths(job).filter(path => columnTypeOf(fieldAt(job, path) ?? {}) === 'text') : [];
      if (schema === undefined || columnTypeOf(schema) !== 'text')
        refuse(
          'hash',
          `names "${text}", which is no column of type text`,
          job
            ? `Expected one of: ${texts.map(each => `${list}.${each}`).join(', ')}.`
            : 'Expected: such as customers.email.',
        );
      if (job && field !== undefined && never.some(other => fieldsIn(list, job, other).includes(field)))
        refuse('hash', `names "${text}", as does SOURCE_NEVER`, 'Expected: one of both.');
    }
    if (hash.length > 0 && hashKey === null)
      refuse(
        'hash',
        'is set, but SLUICE_HASH_KEY is not',
        'Set it to the output of: openssl rand -hex 32. Keep it: other hashes follow from another key.',
      );
  }
}

/** Names without a column, which may be misspelt: then the column is stored. */
export function unknownMasks({ never }: SourceConfig, jobs: Jobs): { readonly name: string; readonly hint: string }[] {
  return never.flatMap(name => {
    const [list = '', ...rest] = name.split('.');
    const job = jobs.get(list);
    if (rest.length === 0 || job === undefined) return [];
    const paths = fieldPaths(job);
    if (fieldsIn(list, job, name).some(field => paths.includes(field))) return [];
    return [{ name, hint: didYouMean(rest.join('.'), paths) }];
  });
}

/** Fields by which the rows of a list are told apart, cut, ordered by their changes, or summed up, and what holds a whole row. */
const neededIn = (job: Job): string[] => {
  const { key, slicings, updatedAt, control } = job;
  const whole = wholeRowOf(job);
  return [
    key,
    ...(whole === undefined ? [] : [whole]),
    ...slicings.flatMap(slicing => (slicing.by === 'date' || slicing.by === 'value' ? [slicing.field] : [])),
    ...(updatedAt === null ? [] : [updatedAt]),
    ...Object.values(control?.sums ?? {}).flatMap(({ of, where }) => [of, ...Object.keys(where)]),
  ];
};
