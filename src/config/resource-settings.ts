import type { z } from 'zod';
import type { Texts } from './environment.ts';
import { checked, oneOf, wholeNumber } from './schema.ts';

/**
 * What is set by resource: the first part of a variable's name (`WEIGHT_INVOICES`), the field of an entry in the sources file (an object from
 * resource to value, such as `example`), and what a value must be.
 */
const KINDS = {
  /** A cron expression or `off`, where it differs from the job's own schedule. */
  schedules: {
    prefix: 'SCHEDULE',
    field: 'schedules',
    example: '"off"',
    value: checked(
      'a cron expression of five fields such as */15 * * * *, or off',
      text => text === 'off' || isCron(text),
    ),
  },
  /** Where it is not 1. */
  weights: { prefix: 'WEIGHT', field: 'weights', example: '3', value: wholeNumber(1, 1000) },
  /** The minutes after which a change should arrive on average. */
  targetMinutes: {
    prefix: 'FRESHNESS_TARGET_MINUTES',
    field: 'target_minutes',
    example: '5',
    value: wholeNumber(1, 525_600),
  },
  /** Whether earlier versions of rows are kept, where it differs from the job. */
  history: {
    prefix: 'HISTORY',
    field: 'history',
    example: '"on"',
    value: oneOf('on', 'off').transform(text => text === 'on'),
  },
  /** By column, the percent of its values that may be replaced within 24 hours before somebody is told. */
  rewriteLimits: {
    prefix: 'REWRITE_LIMIT',
    field: 'rewrite_limits',
    example: '"notes:100"',
    value: checked('columns with a percentage from 1 to 100 each, as in notes:100,due_date:50', text =>
      text.split(',').every(each => /^\s*\w+:(?:100|[1-9]\d?)\s*$/.test(each)),
    ).transform(text => Object.fromEntries(text.split(',').map(limitOfColumn))),
  },
};

/** Five fields; the scheduler says what is wrong in them. */
export function isCron(text: string): boolean {
  return /^([\dA-Za-z*/,-]+\s+){4}[\dA-Za-z*/,-]+$/.test(text);
}

function limitOfColumn(text: string): [column: string, share: number] {
  const [column = '', percent] = text.trim().split(':');
  return [column, Number(percent) / 100];
}

type Kind = keyof typeof KINDS;
/** By resource. */
export type ResourceSettings = { readonly [K in Kind]: Readonly<Record<string, z.infer<(typeof KINDS)[K]['value']>>> };

const KIND_NAMES = Object.keys(KINDS) as Kind[];
const PREFIXES = KIND_NAMES.map(kind => KINDS[kind].prefix);
const NAME = new RegExp(`^(${PREFIXES.join('|')})_([A-Z][A-Z0-9_]*)$`);

/** Their names, as messages give them. */
export const RESOURCE_SETTINGS = PREFIXES.map(prefix => `${prefix}_<NAME>`);
/** The fields of an entry in the sources file, and what they hold for a resource. */
export const RESOURCE_FIELD_VALUES: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  KIND_NAMES.map(kind => [KINDS[kind].field, KINDS[kind].value]),
);

/** Whether a variable has the name of a setting for a resource, whatever the resource. */
export const isResourceSetting = (name: string): boolean => NAME.test(name);

interface Found {
  readonly settings: ResourceSettings;
  readonly problems: string[];
}

/** The settings that are named after resources; `names` are those that are set. */
export function readResourceSettings(
  texts: Texts,
  resources: readonly string[],
): Found & { readonly names: readonly string[] } {
  const found: Found = {
    settings: { schedules: {}, weights: {}, targetMinutes: {}, history: {}, rewriteLimits: {} },
    problems: [],
  };
  const names: string[] = [];
  for (const [name, value] of Object.entries(texts)) {
    const [, prefix, rest = ''] = NAME.exec(name) ?? [];
    const kind = KIND_NAMES.find(each => KINDS[each].prefix === prefix);
    const resource = rest.toLowerCase();
    if (!kind || name === 'SCHEDULE_TIMEZONE') continue;
    // Shells have variables such as HISTORY_IGNORE.
    if (kind === 'history' && !resources.includes(resource) && !KINDS.history.value.safeParse(value).success) continue;
    names.push(name);
    add(found, { kind, resource, value, name }, resources);
  }
  return { ...found, names };
}

/** The same from the fields of an entry in the sources file, over the `defaults` of the environment. */
export function readResourceFields(
  fields: Readonly<Record<string, unknown>>,
  resources: readonly string[],
  defaults: ResourceSettings,
): Found {
  const found: Found = { settings: structuredClone(defaults), problems: [] };
  for (const kind of KIND_NAMES) {
    const { field, example } = KINDS[kind];
    const { [field]: values = {} } = fields;
    if (!isRecord(values))
      found.problems.push(`${field} is not an object; expected one such as {"${resources[0]}": ${example}}.`);
    else
      for (const [resource, value] of Object.entries(values))
        add(found, { kind, resource, value, name: `${field}.${resource}` }, resources);
  }
  return found;
}

/** Takes one value over, or says what is wrong with it. `name`: what a message calls it. */
function add(
  { settings, problems }: Found,
  { kind, resource, value, name }: { kind: Kind; resource: string; value: unknown; name: string },
  resources: readonly string[],
): void {
  const text = plainText(value);
  const { data, error } = KINDS[kind].value.safeParse(text);
  if (!resources.includes(resource))
    problems.push(`${name} names an unknown resource; expected one of ${resources.join(', ')}.`);
  else if (error) problems.push(`${name} is "${text}"; expected ${error.issues[0]?.message}.`);
  else Object.assign(settings[kind], { [resource]: data });
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A JSON value as the text that an environment variable would hold. */
export const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
