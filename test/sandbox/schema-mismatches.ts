import type { Body } from './test-client.ts';

/** Keywords that do not constrain a value. */
const SILENT = ['description', 'default', 'x-undocumented', 'propertyNames'];

/**
 * The differences between a value and a schema of the description, as text. Stricter than JSON Schema: undescribed fields and
 * unknown keywords are differences too.
 */
export function mismatches(description: Body, schema: Body, value: Body, at = 'body'): string[] {
  const found: string[] = [];
  for (const [keyword, expected] of Object.entries<Body>(schema)) {
    const rule = rules[keyword];
    if (rule !== undefined) found.push(...rule({ description, schema, expected, value, at }));
    else if (!SILENT.includes(keyword)) found.push(`${at}: unknown keyword ${keyword}`);
  }
  return found;
}

interface RuleInput {
  description: Body;
  schema: Body;
  expected: Body;
  value: Body;
  at: string;
}

const isObject = (value: Body) => typeof value === 'object' && value !== null && !Array.isArray(value);
const check = (holds: boolean, { at, value, expected }: RuleInput, keyword: string) =>
  holds ? [] : [`${at}: ${JSON.stringify(value)} is not ${keyword} ${JSON.stringify(expected)}`];

const types: Record<string, (value: Body) => boolean> = {
  object: isObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
};

const formats: Record<string, RegExp> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  email: /^\S+@\S+$/,
  uri: /^https?:\/\/\S+$/,
};

const rules: Record<string, (input: RuleInput) => string[]> = {
  $ref: ({ description, expected, value, at }) => mismatches(description, resolve(description, expected), value, at),
  type: input =>
    check(
      [input.expected].flat().some(type => types[type]?.(input.value)),
      input,
      'of type',
    ),
  const: input => check(input.value === input.expected, input, 'the constant'),
  enum: input => check(input.expected.includes(input.value), input, 'one of'),
  anyOf: input =>
    check(
      input.expected.some((each: Body) => mismatches(input.description, each, input.value).length === 0),
      input,
      'any of',
    ),
  format: input =>
    check(typeof input.value !== 'string' || formats[input.expected]?.test(input.value) === true, input, 'a'),
  minimum: input => check(!(input.value < input.expected), input, 'at least'),
  maximum: input => check(!(input.value > input.expected), input, 'at most'),
  exclusiveMinimum: input => check(!(input.value <= input.expected), input, 'above'),
  minLength: input => check(!(input.value?.length < input.expected), input, 'as long as'),
  minItems: input => check(!(input.value?.length < input.expected), input, 'as many as'),
  required: ({ expected, value, at }) =>
    isObject(value) ? expected.flatMap((name: string) => (name in value ? [] : [`${at}.${name} is missing`])) : [],
  items: ({ description, expected, value, at }) =>
    Array.isArray(value)
      ? value.flatMap((each, index) => mismatches(description, expected, each, `${at}[${index}]`))
      : [],
  properties: ({ description, schema, expected, value, at }) =>
    Object.entries(isObject(value) ? value : {}).flatMap(([name, content]) => {
      if (name in expected) return mismatches(description, expected[name], content, `${at}.${name}`);
      return schema.additionalProperties === undefined ? [`${at}.${name} is not described`] : [];
    }),
  additionalProperties: ({ description, schema, expected, value, at }) =>
    Object.entries(isObject(value) ? value : {})
      .filter(([name]) => !(name in (schema.properties ?? {})))
      .flatMap(([name, content]) => mismatches(description, expected, content, `${at}.${name}`)),
};

/** Resolves a reference inside the description. */
export function resolve(description: Body, reference: string): Body {
  return reference
    .slice(2)
    .split('/')
    .reduce((place, name) => place[name], description);
}
