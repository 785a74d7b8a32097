import type { z } from 'zod';
import type { ResourceSettings } from './config.ts';
import type { RawSettings } from './environment.ts';
import { checked, oneOf, wholeNumber } from './schema.ts';

/** The first part of the names of each. */
const FIELDS: Readonly<Record<string, keyof ResourceSettings>> = {
  SCHEDULE: 'schedules',
  WEIGHT: 'weights',
  FRESHNESS_TARGET_MINUTES: 'targetMinutes',
  HISTORY: 'history',
};
const NAME = new RegExp(`^(${Object.keys(FIELDS).join('|')})_([A-Z][A-Z0-9_]*)$`);

/** Their names, as messages give them. */
export const RESOURCE_SETTINGS = Object.keys(FIELDS).map(kind => `${kind}_<NAME>`);

/** Whether a variable has the name of a setting for a resource, whatever the resource. */
export const isResourceSetting = (name: string): boolean => NAME.test(name);

const SCHEDULE = checked(
  'a cron expression of five fields such as */15 * * * *, or off',
  text => text === 'off' || /^([\dA-Za-z*/,-]+\s+){4}[\dA-Za-z*/,-]+$/.test(text),
);
const WEIGHT = wholeNumber(1, 1000);
const TARGET = wholeNumber(1, 525_600);
const HISTORY = oneOf('on', 'off').transform(text => text === 'on');

/** The settings that are named after resources; `names` are those that are set. */
export function readResourceSettings(
  { names: all, textOf }: RawSettings,
  resources: readonly string[],
): ResourceSettings & { names: readonly string[]; problems: readonly string[] } {
  const found: ResourceSettings = { schedules: {}, weights: {}, targetMinutes: {}, history: {} };
  const names: string[] = [];
  const problems: string[] = [];
  for (const name of all) {
    const [, kind = '', rest] = NAME.exec(name) ?? [];
    const field = FIELDS[kind];
    const text = textOf(name);
    if (!field || !rest || !text || name === 'SCHEDULE_TIMEZONE') continue;
    // Shells have variables such as HISTORY_IGNORE.
    if (field === 'history' && !resources.includes(rest.toLowerCase()) && !HISTORY.safeParse(text).success) continue;
    names.push(name);
    const checkedHere = checkResourceSettings({ [field]: { [rest.toLowerCase()]: text } }, resources, () => name);
    Object.assign(found[field], checkedHere[field]);
    problems.push(...checkedHere.problems);
  }
  return { ...found, names, problems };
}

/** Checks resources and values; `nameOf` says what a problem calls one of them. */
export function checkResourceSettings(
  given: Partial<Record<keyof ResourceSettings, Record<string, unknown>>>,
  resources: readonly string[],
  nameOf: (field: keyof ResourceSettings, resource: string) => string,
): ResourceSettings & { problems: readonly string[] } {
  const problems: string[] = [];
  const check = <T>(field: keyof ResourceSettings, schema: z.ZodType<T, string>): Record<string, T> => {
    const accepted: Record<string, T> = {};
    for (const [resource, value] of Object.entries(given[field] ?? {})) {
      const name = nameOf(field, resource);
      const text = plainText(value);
      const parsed = schema.safeParse(text);
      if (!resources.includes(resource))
        problems.push(`${name} names an unknown resource; expected one of ${resources.join(', ')}.`);
      else if (parsed.success) accepted[resource] = parsed.data;
      else problems.push(`${name} is "${text}"; expected ${parsed.error.issues[0]?.message}.`);
    }
    return accepted;
  };
  return {
    schedules: check('schedules', SCHEDULE),
    weights: check('weights', WEIGHT),
    targetMinutes: check('targetMinutes', TARGET),
    history: check('history', HISTORY),
    problems,
  };
}

/** A JSON value as the text that an environment variable would hold. */
export const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
